package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class NackContractTest extends ContractTest {
    /** Longer than any test. */
    private static final Duration LATER = Duration.ofDays(1);

    private List<byte[]> payloads;

    private Consumer consumer() {
        return queue.consumer();
    }

    private void pushAndPop(int pushes, int pops) {
        payloads = new ArrayList<>();
        for (int i = 0; i < pushes; i++) {
            payloads.add(setup.tenth(i));
        }
        Payload.pushAll(queue, payloads);
        for (int i = 0; i < pops; i++) {
            assertPops(i, 1);
        }
    }

    private void assertPops(int offset, int attempts) {
        Message peeked = queue.consumer().peek();
        assertEquals(offset, peeked.offset());
        assertEquals(attempts, peeked.attempts());
        Message message = queue.consumer().pop();
        assertEquals(offset, message.offset());
        assertEquals(attempts, message.attempts());
        assertArrayEquals(payloads.get(offset), message.data());
        assertArrayEquals(payloads.get(offset), peeked.data());
        assertEquals(message.timestampMicros(), peeked.timestampMicros());
    }

    @Test
    void requeuedRecordsPrecedeNewOnesInOffsetOrder() {
        pushAndPop(12, 6);
        for (long offset : new long[] {4, 1, 3}) {
            consumer().nack(offset);
        }
        assertEquals(3, consumer().unacked());
        assertEquals(9, consumer().size());
        assertEquals(6, consumer().readOffset());
        assertPops(1, 2);
        consumer().nack(0);
        assertPops(0, 2);
        assertPops(3, 2);
        assertPops(4, 2);
        for (int i = 6; i < 12; i++) {
            assertPops(i, 1);
        }
        assertNull(queue.consumer().poll());
        assertEquals(12, consumer().unacked());
        assertEquals(0, consumer().size());
    }

    @Test
    void attemptsCountEveryPop() {
        pushAndPop(3, 2);
        for (int attempts = 2; attempts < 40; attempts++) {
            consumer().nack(1);
            assertPops(1, attempts);
        }
        assertPops(2, 1);
        consumer().nack(0);
        assertPops(0, 2);
    }

    @Test
    void aSecondNackHasNoEffect() {
        pushAndPop(5, 3);
        consumer().nack(1);
        consumer().nack(1);
        consumer().nack(1, LATER);
        assertEquals(1, consumer().size() - 2);
        assertPops(1, 2);
        assertPops(3, 1);
    }

    @Test
    void aNackOfARecordThatIsNotInFlightThrows() {
        pushAndPop(10, 6);
        queue.consumer().ackUpTo(1);
        consumer().ack(4);
        for (long bad : new long[] {-1, 0, 1, 4, 6, 9, 10, Long.MAX_VALUE, Long.MIN_VALUE}) {
            OutOfRangeException thrown =
                    assertThrows(OutOfRangeException.class, () -> consumer().nack(bad));
            assertEquals(bad, thrown.requested());
            assertEquals(2, thrown.first());
            assertEquals(5, thrown.last());
            assertThrows(OutOfRangeException.class, () -> queue.consumer().nack(bad, LATER));
        }
        assertEquals(3, consumer().unacked());
        assertPops(6, 1);
    }

    @Test
    void aRequeuedRecordCanBeAcked() {
        pushAndPop(10, 6);
        consumer().nack(0);
        consumer().nack(2);
        consumer().nack(3, LATER);
        consumer().nack(5);
        consumer().ack(new long[] {2, 3});
        queue.consumer().ackUpTo(0);
        assertEquals(1, consumer().committedOffset());
        assertPops(5, 2);
        assertPops(6, 1);
        queue.consumer().ackUpTo(6);
        assertEquals(7, consumer().committedOffset());
        assertEquals(0, consumer().unacked());
        assertPops(7, 1);
    }

    @Test
    void aDelayedRecordDoesNotBlockOthers() {
        pushAndPop(8, 5);
        consumer().nack(0, LATER);
        consumer().nack(3, LATER);
        consumer().nack(2);
        assertPops(2, 2);
        for (int i = 5; i < 8; i++) {
            assertPops(i, 1);
        }
        assertNull(queue.consumer().poll());
        assertNull(queue.consumer().peek());
        assertEquals(2, consumer().size());
        assertEquals(6, consumer().unacked());
    }

    @Test
    void aDelayedRecordIsRedeliveredAfterItsDelay() throws InterruptedException {
        pushAndPop(3, 3);
        queue.consumer().nack(2, LATER);
        queue.consumer().nack(0, Duration.ofNanos(1));
        queue.consumer().nack(1, Duration.ofMillis(30));
        assertEquals(0, queue.consumer().pop(Waiting.LONG).offset());
        Message second = queue.consumer().pop(Waiting.LONG);
        assertEquals(1, second.offset());
        assertEquals(2, second.attempts());
        assertNull(queue.consumer().poll());
    }

    @Test
    void aNegativeDelayIsZero() {
        pushAndPop(2, 1);
        consumer().nack(0, Duration.ofSeconds(-5));
        assertPops(0, 2);
    }

    @Test
    void aWaitingPopIsWokenByANack() throws Exception {
        pushAndPop(2, 2);
        Waiting.Running<Message> waitingPop =
                Waiting.start(() -> queue.consumer().pop(Waiting.LONG)).untilItWaits();
        queue.consumer().nack(1, Duration.ZERO);
        Message message = waitingPop.result();
        assertEquals(1, message.offset());
        assertEquals(2, message.attempts());
    }

    @Test
    void popBatchReturnsRequeuedRecordsFirst() throws InterruptedException {
        pushAndPop(9, 4);
        consumer().nack(3);
        consumer().nack(1);
        List<Message> batch = queue.consumer().popBatch(4, Long.MAX_VALUE, Duration.ZERO);
        assertEquals(
                List.of(1L, 3L, 4L, 5L), batch.stream().map(Message::offset).toList());
        assertEquals(List.of(2, 2, 1, 1), batch.stream().map(Message::attempts).toList());
        consumer().nack(0);
        List<Message> byBytes = queue.consumer().popBatch(9, payloads.get(0).length, Duration.ZERO);
        assertEquals(List.of(0L), byBytes.stream().map(Message::offset).toList());
    }

    @Test
    void requeuedRecordsRetainTheirSpace() {
        int count = fill().size();
        Payload.drain(queue);
        consumer().nack(0);
        consumer().ack(1);
        assertThrows(FullException.class, () -> queue.push(setup.tenth(1)));
        assertEquals(0, queue.consumer().pop().offset());
        queue.consumer().ackUpTo(count - 1);
        assertEquals(count, queue.push(setup.tenth(1)));
    }

    /** Records over the whole ring are nacked in a random order, and redelivered unchanged in offset order. */
    @Test
    void anyRecordInTheRingCanBeRedelivered() {
        List<byte[]> all = setup.payloads(3, 400);
        Payload.pushAll(queue, all);
        Payload.assertMessages(0, all, Payload.drain(queue));
        SplittableRandom random = new SplittableRandom(3);
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            order.add(random.nextInt(i + 1), i);
        }
        order.forEach(offset -> consumer().nack(offset));
        List<Message> again = Payload.drain(queue);
        Payload.assertMessages(0, all, again);
        again.forEach(message -> assertEquals(2, message.attempts()));
    }
}
