package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class ClosedContractTest extends ContractTest {
    private static final Duration NOW = Duration.ZERO;
    private static final byte[] BYTES = {1};
    private static final MessageHandler HANDLER = (offset, timestamp, buffer, start, length, attempts) -> {};

    private List<Executable> callsOfTheQueue() {
        return new ArrayList<>(List.of(
                () -> queue.push(BYTES),
                () -> queue.push(BYTES, 0, 1),
                () -> queue.push(ByteBuffer.wrap(BYTES)),
                () -> queue.push(ByteBuffer.allocateDirect(1)),
                () -> queue.push(BYTES, NOW),
                () -> queue.push(ByteBuffer.wrap(BYTES), NOW),
                () -> queue.pushSync(BYTES, NOW),
                () -> queue.pushBatch(List.of(BYTES)),
                () -> queue.pushBatch(List.of()),
                () -> queue.pushBatch(List.of(BYTES), NOW),
                () -> queue.pushBatch(BYTES, 0, new int[] {1}, 1, NOW),
                () -> queue.consumer(),
                () -> queue.consumer("default", StartAt.EARLIEST),
                () -> queue.consumer("other", StartAt.LATEST),
                () -> queue.consumer().poll(),
                () -> queue.consumer().pop(),
                () -> queue.consumer().pop(NOW),
                () -> queue.consumer().popBatch(1, 1, NOW),
                () -> queue.consumer().peek(),
                () -> queue.consumer().ackUpTo(0),
                () -> queue.endOffset(),
                () -> queue.flush(),
                () -> queue.stats(),
                () -> queue.config()));
    }

    private static List<Executable> callsOf(Consumer consumer) {
        return List.of(
                () -> consumer.poll(),
                () -> consumer.poll(HANDLER),
                () -> consumer.pop(),
                () -> consumer.pop(NOW),
                () -> consumer.popBatch(1, 1, NOW),
                () -> consumer.popBatch(1, 1, NOW, HANDLER),
                () -> consumer.peek(),
                () -> consumer.ackUpTo(0),
                () -> consumer.readOffset(),
                () -> consumer.committedOffset(),
                () -> consumer.lag());
    }

    private void assertAllClosed(Consumer consumer) {
        List<Executable> calls = callsOfTheQueue();
        calls.addAll(callsOf(consumer));
        for (int i = 0; i < calls.size(); i++) {
            assertThrows(ClosedException.class, calls.get(i), "call " + i);
        }
        assertEquals("default", consumer.name());
    }

    @Test
    void everyCallThrowsClosed() {
        queue.push(BYTES);
        Consumer consumer = queue.consumer();
        consumer.pop();
        queue.close();
        assertAllClosed(consumer);
        queue.close();
        assertAllClosed(consumer);
    }

    @Test
    void aHandleIsClosedWhileAnotherOneIsOpen() {
        queue.push(BYTES);
        Consumer consumer = queue.consumer();
        try (MmapQueue other = setup.open(directory)) {
            queue.close();
            assertAllClosed(consumer);
            assertEquals(1, other.consumer().pop().data().length);
        }
    }

    @Test
    void aHandleWithoutAConsumerIsClosedToo() {
        queue.close();
        for (Executable call : callsOfTheQueue()) {
            assertThrows(ClosedException.class, call);
        }
    }

    @Test
    void aCloseEndsAWaitingPop() {
        Waiting.Running<Message> waitingPop =
                Waiting.start(() -> queue.consumer().pop(Waiting.LONG)).untilItWaits();
        Waiting.Running<List<Message>> batching = Waiting.start(
                        () -> queue.consumer().popBatch(5, 100, Waiting.LONG))
                .untilItWaits();
        queue.close();
        assertThrows(ClosedException.class, waitingPop::result);
        assertThrows(ClosedException.class, batching::result);
    }

    @Test
    void aCloseEndsAWaitingPush() {
        fill();
        Waiting.Running<Long> pushing =
                Waiting.start(() -> queue.push(setup.tenth(1), Waiting.LONG)).untilItWaits();
        Waiting.Running<Long> batching = Waiting.start(() -> queue.pushBatch(List.of(setup.tenth(1)), Waiting.LONG))
                .untilItWaits();
        queue.close();
        assertThrows(ClosedException.class, pushing::result);
        assertThrows(ClosedException.class, batching::result);
    }

    @Test
    void aWaitingPopEndsWithItsHandleWhileAnotherIsOpen() throws Exception {
        try (MmapQueue other = setup.open(directory)) {
            Waiting.Running<Message> waitingPop =
                    Waiting.start(() -> queue.consumer().pop(Waiting.LONG)).untilItWaits();
            queue.close();
            assertThrows(ClosedException.class, waitingPop::result);
            other.push(BYTES);
            assertEquals(1, other.consumer().pop().data().length);
        }
    }

    @Test
    void aWaitingPushEndsWithItsHandle() throws Exception {
        fill();
        try (MmapQueue other = setup.open(directory)) {
            Waiting.Running<Long> pushing = Waiting.start(() -> queue.push(setup.tenth(1), Waiting.LONG))
                    .untilItWaits();
            queue.close();
            assertThrows(ClosedException.class, pushing::result);
            assertThrows(FullException.class, () -> other.push(setup.tenth(1)));
        }
    }

    @Test
    void aConcurrentCloseLosesNothing() throws Exception {
        for (int round = 0; round < 5; round++) {
            Waiting.Running<Long> pushing = Waiting.start(() -> {
                long pushed = 0;
                try {
                    while (true) {
                        queue.push(Payload.numbered(pushed, 100), Waiting.LONG);
                        pushed++;
                    }
                } catch (ClosedException e) {
                    return pushed;
                }
            });
            Waiting.Running<Long> consuming = Waiting.start(() -> {
                long popped = 0;
                try {
                    while (true) {
                        assertEquals(
                                popped,
                                Payload.numberOf(
                                        queue.consumer().pop(Waiting.LONG).data()));
                        popped++;
                        queue.consumer().ackUpTo(queue.consumer().readOffset() - 1);
                    }
                } catch (ClosedException e) {
                    return popped;
                }
            });
            Waiting.until("something was pushed", () -> queue.endOffset() > 50);
            queue.close();
            long pushed = pushing.result();
            long popped = consuming.result();
            queue = setup.open(directory);
            // The record popped last may not have been acked.
            long first = pushed - queue.consumer().lag();
            assertEquals(true, first == popped || first == popped - 1, "acked " + first + ", popped " + popped);
            for (Message message : Payload.drain(queue)) {
                assertEquals(first++, Payload.numberOf(message.data()));
            }
            assertEquals(pushed, first);
            if (queue.consumer().lag() > 0) {
                queue.consumer().ackUpTo(queue.consumer().readOffset() - 1);
            }
            reopen();
        }
    }
}
