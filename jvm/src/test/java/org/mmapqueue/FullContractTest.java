package org.mmapqueue;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.EmptyException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class FullContractTest extends ContractTest {

    /** A deadline below the clock's range must not overflow into the far future. */
    @Test
    void aNegativeTimeoutDoesNotWait() throws Exception {
        for (Duration timeout :
                List.of(Duration.ofNanos(Long.MIN_VALUE), Duration.ofSeconds(Long.MIN_VALUE), Duration.ofNanos(-1))) {
            Waiting.start(() -> assertThrows(
                            EmptyException.class, () -> queue.consumer().pop(timeout)))
                    .result();
        }
        fill();
        for (Duration timeout : List.of(Duration.ofNanos(Long.MIN_VALUE), Duration.ofNanos(-1))) {
            Waiting.start(() -> assertThrows(FullException.class, () -> queue.push(setup.tenth(1), timeout)))
                    .result();
        }
    }

    @Test
    void aPushIntoAFullQueueThrowsAtOnceAndChangesNothing() throws InterruptedException {
        List<byte[]> payloads = fill();
        int least = setup.room() / setup.footprint(setup.segmentSize / 10);
        assertTrue(payloads.size() >= least, payloads.size() + " records fit, expected at least " + least);
        byte[] more = setup.tenth(-1);
        assertThrows(FullException.class, () -> queue.push(more));
        assertThrows(FullException.class, () -> queue.push(more, 0, more.length));
        assertThrows(FullException.class, () -> queue.push(ByteBuffer.wrap(more)));
        assertThrows(FullException.class, () -> queue.push(more, Duration.ZERO));
        assertEquals(OptionalLong.empty(), queue.offer(more));
        assertEquals(OptionalLong.empty(), queue.offer(more, Duration.ZERO));
        assertThrows(FullException.class, () -> queue.pushSync(more, Duration.ZERO));
        assertThrows(FullException.class, () -> queue.pushBatch(List.of(more, more)));
        assertThrows(FullException.class, () -> queue.pushBatch(List.of(more), Duration.ofMillis(-1)));
        assertThrows(FullException.class, () -> queue.pushBatch(more, 0, new int[] {more.length}, 1, Duration.ZERO));
        assertEquals(payloads.size(), queue.endOffset());
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    /** At each position of the log end in a segment, and in a ring of any fill. */
    @Test
    void aQueueIsFullExactlyWhenItsLargestRecordHasNoRoom() {
        byte[] largest = new byte[setup.maxEvent];
        Random random = new Random(1);
        int full = 0;
        for (int round = 0; round < 3000; round++) {
            if (queue.isFull()) {
                full++;
                assertThrows(FullException.class, () -> queue.push(largest), "round " + round);
                Payload.drain(queue);
                queue.consumer().ackUpTo(queue.consumer().readOffset() - 1 - random.nextInt(2));
            } else if (random.nextInt(3) == 0) {
                queue.push(largest);
            } else if (queue.offer(new byte[random.nextInt(300)]).isPresent() && random.nextInt(300) == 0) {
                Payload.drain(queue);
                queue.consumer().ackUpTo(queue.consumer().readOffset() - 1);
                assertFalse(queue.isFull(), "an empty queue is full");
            }
        }
        assertTrue(full > 3, "full " + full + " times");
    }

    @Test
    void aByteBufferOfAFailedPushKeepsItsPosition() {
        fill();
        ByteBuffer heap = ByteBuffer.wrap(setup.tenth(1)).position(3);
        ByteBuffer direct = ByteBuffer.allocateDirect(setup.segmentSize / 10).position(5);
        assertThrows(FullException.class, () -> queue.push(heap));
        assertThrows(FullException.class, () -> queue.push(direct));
        assertThrows(FullException.class, () -> queue.push(heap, Duration.ZERO));
        assertEquals(3, heap.position());
        assertEquals(5, direct.position());
    }

    @Test
    void popsWithoutAcksFreeNoSpace() {
        fill();
        Payload.drain(queue);
        assertThrows(FullException.class, () -> queue.push(setup.tenth(1)));
    }

    @Test
    void aPushWaitsForItsWholeTimeout() {
        fill();
        long start = System.nanoTime();
        assertThrows(FullException.class, () -> queue.push(setup.tenth(1), Duration.ofMillis(60)));
        assertTrue(System.nanoTime() - start >= MILLISECONDS.toNanos(60));
    }

    @Test
    void anOfferReturnsTheOffsetOrWaitsForItsWholeTimeout() throws Exception {
        assertEquals(OptionalLong.of(0), queue.offer(setup.tenth(0)));
        assertEquals(OptionalLong.of(1), queue.offer(setup.tenth(1), Duration.ZERO));
        Payload.assertMessages(0, List.of(setup.tenth(0), setup.tenth(1)), Payload.drain(queue));
        int end = 2 + fill().size();
        long start = System.nanoTime();
        assertEquals(OptionalLong.empty(), queue.offer(setup.tenth(-1), Duration.ofMillis(60)));
        assertTrue(System.nanoTime() - start >= MILLISECONDS.toNanos(60));
        Waiting.Running<OptionalLong> offering =
                Waiting.start(() -> queue.offer(setup.tenth(-1), Waiting.LONG)).untilItWaits();
        Payload.drain(queue);
        queue.consumer().ackUpTo(end - 1);
        assertEquals(OptionalLong.of(end), offering.result());
        Payload.assertMessages(end, List.of(setup.tenth(-1)), Payload.drain(queue));
    }

    @Test
    void aWaitingPushIsWokenByAnAck() throws Exception {
        List<byte[]> payloads = fill();
        Waiting.Running<Long> pushing =
                Waiting.start(() -> queue.push(setup.tenth(-1), Waiting.LONG)).untilItWaits();
        Waiting.Running<Long> batching = Waiting.start(
                        () -> queue.pushBatch(List.of(setup.tenth(-2), setup.tenth(-3)), Waiting.LONG))
                .untilItWaits();
        Payload.assertMessages(0, payloads, Payload.drain(queue));
        assertFalse(pushing.isDone() || batching.isDone());
        queue.consumer().ackUpTo(payloads.size() - 1);
        long single = pushing.result();
        long batch = batching.result();
        assertEquals(payloads.size(), Math.min(single, batch));
        List<byte[]> expected = single < batch
                ? List.of(setup.tenth(-1), setup.tenth(-2), setup.tenth(-3))
                : List.of(setup.tenth(-2), setup.tenth(-3), setup.tenth(-1));
        Payload.assertMessages(payloads.size(), expected, Payload.drain(queue));
    }

    @Test
    void ackedSpaceIsReusedAtOnce() throws InterruptedException {
        List<byte[]> payloads = fill();
        long end = payloads.size();
        long read = 0;
        for (int generation = 0; generation < 3; generation++) {
            for (int i = 0; i < setup.capacity * 10; i++) {
                Message message = queue.consumer().pop();
                assertEquals(read, message.offset());
                queue.consumer().ackUpTo(read++);
                while (end - read < payloads.size() - 25) {
                    assertEquals(end, queue.push(setup.tenth(end)));
                    end++;
                }
            }
        }
        for (; read < end; read++) {
            Payload.assertNextIs(read, setup.tenth(read), queue);
        }
    }

    @Test
    void aBatchTooLargeForTheFreeSpaceFitsAfterTheAcks() {
        fill();
        Payload.drain(queue);
        assertThrows(FullException.class, () -> queue.push(new byte[setup.maxEvent]));
        queue.consumer().ackUpTo(queue.endOffset() - 1);
        long offset = queue.push(Payload.of(9, setup.maxEvent));
        Payload.assertMessages(offset, List.of(Payload.of(9, setup.maxEvent)), Payload.drain(queue));
    }

    @Test
    void aFullQueueIsFullAfterReopening() {
        List<byte[]> payloads = fill();
        reopen();
        assertThrows(FullException.class, () -> queue.push(setup.tenth(1)));
        Payload.assertMessages(0, payloads, Payload.drain(queue));
        queue.consumer().ackUpTo(payloads.size() - 1);
        assertEquals(payloads.size(), queue.push(setup.tenth(1)));
    }
}
