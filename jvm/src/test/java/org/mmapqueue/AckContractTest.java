package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Payload;

@ForEverySetup
class AckContractTest extends ContractTest {

    private void assertCommitted(long offset) {
        assertEquals(offset, queue.consumer().committedOffset());
        assertEquals(queue.endOffset() - offset, queue.consumer().lag());
    }

    @Test
    void ackIsCumulative() {
        List<byte[]> payloads = fill();
        Payload.drain(queue);
        assertCommitted(0);
        queue.consumer().ackUpTo(0);
        assertCommitted(1);
        queue.consumer().ackUpTo(7);
        assertCommitted(8);
        queue.consumer().ackUpTo(payloads.size() - 1);
        assertCommitted(payloads.size());
        assertEquals(queue.stats().writingPosition(), queue.stats().lowWatermark());
    }

    @Test
    void anEarlierAckChangesNothing() {
        fill();
        Payload.drain(queue);
        queue.consumer().ackUpTo(9);
        queue.consumer().ackUpTo(9);
        queue.consumer().ackUpTo(0);
        queue.consumer().ackUpTo(5);
        assertCommitted(10);
    }

    @Test
    void anAckOfARecordThatWasNotPoppedThrows() {
        OutOfRangeException nothing =
                assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(0));
        assertEquals(0, nothing.requested());
        fill();
        queue.consumer().pop();
        queue.consumer().pop();
        OutOfRangeException ahead =
                assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(2));
        assertEquals(2, ahead.requested());
        assertEquals(0, ahead.first());
        assertEquals(1, ahead.last());
        assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(Long.MAX_VALUE));
        assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(-1));
        assertCommitted(0);
        queue.consumer().ackUpTo(1);
        assertCommitted(2);
    }

    @Test
    void aReopenedConsumerStartsAfterTheLastAck() throws InterruptedException {
        List<byte[]> payloads = setup.payloads(4, 40);
        Payload.pushAll(queue, payloads);
        int acked = 0;
        SplittableRandom random = new SplittableRandom(4);
        while (acked < payloads.size()) {
            int more = Math.min(payloads.size() - acked, 1 + random.nextInt(6));
            for (int i = acked; i < payloads.size(); i++) {
                long offset = offsetNow(i, acked);
                Payload.assertNextIs(offset, payloads.get(i), queue);
            }
            queue.consumer().ackUpTo(offsetNow(acked + more - 1, acked));
            acked += more;
            reopen();
            assertEquals(payloads.size() - acked, queue.consumer().lag());
        }
    }

    @Test
    void anyOfManyRecordsInFlightCanBeAcked() throws InterruptedException {
        // Far more records than entries of the sparse index; acks land between entries and on them.
        int count = setup.room() / setup.footprint(1) * 9 / 10;
        for (int i = 0; i < count; i++) {
            queue.push(new byte[] {(byte) i});
        }
        while (!queue.consumer().popBatch(1000, Long.MAX_VALUE, Duration.ZERO).isEmpty()) {
            assertTrue(queue.consumer().readOffset() <= count);
        }
        SplittableRandom random = new SplittableRandom(5);
        long acked = -1;
        while (acked < count - 1) {
            acked = Math.min(count - 1, acked + 1 + random.nextLong(Math.max(2, count / 40)));
            queue.consumer().ackUpTo(acked);
            assertCommitted(acked + 1);
        }
        queue.push(Payload.of(1, 10));
        Payload.assertNextIs(count, Payload.of(1, 10), queue);
    }

    @Test
    void acksOfHalfTheRecordsFreeTheirSegments() {
        List<byte[]> payloads = fill();
        long lag = payloads.size();
        Payload.assertMessages(0, payloads, Payload.drain(queue));
        long half = payloads.size() / 2;
        queue.consumer().ackUpTo(half);
        assertCommitted(half + 1);
        List<byte[]> more = fill();
        assertTrue(more.size() >= payloads.size() / 2 - 20, more.size() + " records fit after " + half + " acks");
        assertEquals(lag - half - 1 + more.size(), queue.consumer().lag());
        Payload.assertMessages(payloads.size(), more, Payload.drain(queue));
    }

    @Test
    void popAndAckAlternateWithALag() {
        // The window of records in flight moves through several generations.
        List<Long> window = new ArrayList<>();
        SplittableRandom random = new SplittableRandom(6);
        long pushed = 0;
        int generations = setup.segmentSize > 4096 ? 1 : 2;
        long total = (long) setup.capacity * 10 * generations;
        while (pushed < total) {
            for (int i = 0; i < 12; i++) {
                queue.push(Payload.numbered(pushed++, setup.segmentSize / 10));
            }
            for (Message message = queue.consumer().poll();
                    message != null;
                    message = queue.consumer().poll()) {
                assertEquals(message.offset(), Payload.numberOf(message.data()));
                window.add(message.offset());
            }
            int acked = random.nextInt(window.size());
            queue.consumer().ackUpTo(window.get(acked));
            window.subList(0, acked + 1).clear();
            assertEquals(window.size(), queue.consumer().lag());
        }
    }
}
