package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class AckSingleContractTest extends ContractTest {

    private Consumer consumer() {
        return queue.consumer();
    }

    private void assertState(long committed, long unacked) {
        assertEquals(committed, consumer().committedOffset());
        assertEquals(unacked, consumer().unacked());
        assertEquals(unacked + consumer().size(), consumer().lag());
    }

    @Test
    void committedIsTheEndOfTheAcksWithoutAGap() {
        int count = fill().size();
        Payload.drain(queue);
        consumer().ack(2);
        consumer().ack(1);
        assertState(0, count - 2);
        consumer().ack(4);
        consumer().ack(0);
        assertState(3, count - 4);
        consumer().ack(3);
        assertState(5, count - 5);
    }

    @Test
    void acksInAnyOrderCommitEveryRecord() {
        List<byte[]> payloads = fill();
        Payload.drain(queue);
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < payloads.size(); i++) {
            order.add(i);
        }
        Collections.shuffle(order, new Random(7));
        boolean[] acked = new boolean[payloads.size() + 1];
        int committed = 0;
        for (int i = 0; i < order.size(); i++) {
            consumer().ack(order.get(i));
            acked[order.get(i)] = true;
            while (acked[committed]) {
                committed++;
            }
            assertState(committed, payloads.size() - i - 1L);
        }
        assertEquals(payloads.size(), committed);
        assertEquals(queue.stats().writingPosition(), queue.stats().lowWatermark());
        assertNull(queue.consumer().poll());
    }

    @Test
    void oneCallAcksSeveralRecordsInAnyOrderAndTwice() {
        int count = fill().size();
        Payload.drain(queue);
        consumer().ack(new long[] {5, 1, 1, 2, 5});
        assertState(0, count - 3);
        consumer().ack(new long[] {3, 2, 0});
        assertState(4, count - 5);
        consumer().ack(new long[0]);
        assertState(4, count - 5);
    }

    @Test
    void aSecondAckHasNoEffect() {
        int count = fill().size();
        Payload.drain(queue);
        queue.consumer().ackUpTo(3);
        consumer().ack(6);
        consumer().ack(0);
        consumer().ack(6);
        consumer().ack(new long[] {2, 3, 6});
        queue.consumer().ackUpTo(1);
        assertState(4, count - 5);
    }

    @Test
    void aCallWithARecordThatWasNotPoppedAcksNone() {
        int count = fill().size();
        for (int i = 0; i < 5; i++) {
            queue.consumer().pop();
        }
        for (long bad : new long[] {5, -1, count, Long.MAX_VALUE, Long.MIN_VALUE}) {
            OutOfRangeException thrown =
                    assertThrows(OutOfRangeException.class, () -> consumer().ack(new long[] {0, 1, bad, 2}));
            assertEquals(bad, thrown.requested());
            assertEquals(0, thrown.first());
            assertEquals(4, thrown.last());
            assertThrows(OutOfRangeException.class, () -> consumer().ack(bad));
            assertState(0, 5);
        }
        consumer().ack(new long[] {0, 1, 2});
        assertState(3, 2);
    }

    @Test
    void aCumulativeAckAlsoCommitsLaterSingleAcks() {
        int count = fill().size();
        Payload.drain(queue);
        consumer().ack(new long[] {6, 7, 9});
        queue.consumer().ackUpTo(5);
        assertState(8, count - 9);
        queue.consumer().ackUpTo(8);
        assertState(10, count - 10);
    }

    @Test
    void aGapRetainsItsSegmentUntilItIsAcked() {
        int count = fill().size();
        Payload.drain(queue);
        for (int i = 1; i < count; i++) {
            consumer().ack(i);
        }
        assertState(0, 1);
        assertThrows(FullException.class, () -> queue.push(setup.tenth(count)));
        consumer().ack(0);
        assertState(count, 0);
        List<byte[]> more = fill();
        assertTrue(more.size() >= count - 20, more.size() + " records fit after " + count + " acks");
        assertEquals(more.size(), Payload.drain(queue).size());
    }

    @Test
    void anAckOfTheGapWakesAWaitingPush() throws Exception {
        int count = fill().size();
        Payload.drain(queue);
        for (int i = 1; i < count; i++) {
            consumer().ack(i);
        }
        Waiting.Running<Long> pushing = Waiting.start(() -> queue.push(setup.tenth(count), Waiting.LONG))
                .untilItWaits();
        assertFalse(pushing.isDone());
        consumer().ack(0);
        assertEquals(count, pushing.result());
    }

    @Test
    void recordsAckedAfterAGapAreNotRedeliveredAfterAReopening() {
        List<byte[]> payloads = fill();
        Payload.drain(queue);
        consumer().ack(new long[] {0, 2, 3, 5});
        reopen();
        if (setup.isV1()) {
            // Version 1 stores the committed position alone.
            Payload.assertMessages(0, payloads.subList(1, payloads.size()), Payload.drain(queue));
            return;
        }
        assertState(1, 0);
        long[] expected = {1, 4, 6};
        for (long offset : expected) {
            assertEquals(offset, queue.consumer().pop().offset());
        }
        consumer().ack(1);
        assertState(4, 2);
        consumer().ack(4);
        assertState(6, 1);
    }

    @Test
    void aReopenedConsumerCommitsSavedAcksOnceTheirGapIsAcked() {
        Payload.pushAll(queue, List.of(setup.tenth(0), setup.tenth(1), setup.tenth(2)));
        Payload.drain(queue);
        consumer().ack(new long[] {1, 2});
        reopen();
        assertEquals(0, queue.consumer().pop().offset());
        queue.consumer().ackUpTo(0);
        if (setup.isV1()) {
            assertState(1, 0);
        } else {
            assertState(3, 0);
            assertEquals(0, consumer().size());
        }
    }
}
