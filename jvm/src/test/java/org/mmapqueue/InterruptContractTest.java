package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class InterruptContractTest extends ContractTest {

    private void assertPushesAndPops() {
        List<byte[]> payloads = setup.payloads(99, 10);
        if (queue.consumer().readOffset() > queue.consumer().committedOffset()) {
            queue.consumer().ackUpTo(queue.consumer().readOffset() - 1);
        }
        long first = Payload.pushAll(queue, payloads);
        Payload.assertMessages(first, payloads, Payload.drain(queue));
        queue.flush();
    }

    @Test
    void aWaitingPopIsInterruptedAndNothingIsPopped() throws Exception {
        Waiting.Running<Message> waitingPop =
                Waiting.start(() -> queue.consumer().pop(Waiting.LONG)).untilItWaits();
        waitingPop.thread().interrupt();
        assertThrows(InterruptedException.class, waitingPop::result);
        Waiting.Running<List<Message>> batching = Waiting.start(
                        () -> queue.consumer().popBatch(9, 99, Waiting.LONG))
                .untilItWaits();
        batching.thread().interrupt();
        assertThrows(InterruptedException.class, batching::result);
        assertEquals(0, queue.consumer().readOffset());
        assertPushesAndPops();
    }

    @Test
    void aWaitingPushIsInterruptedAndNothingIsStored() throws Exception {
        List<byte[]> payloads = fill();
        Waiting.Running<Long> pushing =
                Waiting.start(() -> queue.push(setup.tenth(1), Waiting.LONG)).untilItWaits();
        pushing.thread().interrupt();
        assertThrows(InterruptedException.class, pushing::result);
        Waiting.Running<Long> syncing = Waiting.start(() -> queue.pushSync(setup.tenth(1), Waiting.LONG))
                .untilItWaits();
        syncing.thread().interrupt();
        assertThrows(InterruptedException.class, syncing::result);
        assertEquals(payloads.size(), queue.endOffset());
        Payload.assertMessages(0, payloads, Payload.drain(queue));
        queue.consumer().ackUpTo(payloads.size() - 1);
        assertPushesAndPops();
    }

    @Test
    void aCallThatMayWaitThrowsWhenItIsInterruptedBefore() throws Exception {
        queue.push(new byte[1]);
        Waiting.start(() -> {
                    Thread.currentThread().interrupt();
                    assertThrows(
                            InterruptedException.class, () -> queue.consumer().pop(Duration.ZERO));
                    Thread.currentThread().interrupt();
                    assertThrows(InterruptedException.class, () -> queue.push(new byte[1], Duration.ZERO));
                    Thread.currentThread().interrupt();
                    assertThrows(
                            InterruptedException.class, () -> queue.pushBatch(List.of(new byte[1]), Duration.ZERO));
                    return null;
                })
                .result();
        assertEquals(1, queue.endOffset());
        assertEquals(0, queue.consumer().readOffset());
    }

    @Test
    void anInterruptedThreadPushesThroughManySegments() throws Exception {
        List<byte[]> payloads = setup.payloads(1, 200);
        boolean still = Waiting.start(() -> {
                    for (byte[] payload : payloads) {
                        Thread.currentThread().interrupt();
                        queue.push(payload);
                    }
                    return Thread.interrupted();
                })
                .result();
        assertTrue(still, "the interrupt stays pending");
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    @Test
    void anInterruptedThreadPopsAcksAndFlushes() throws Exception {
        List<byte[]> payloads = setup.payloads(2, 200);
        Payload.pushAll(queue, payloads);
        List<Message> popped = new ArrayList<>();
        Waiting.start(() -> {
                    Thread.currentThread().interrupt();
                    for (Message message = queue.consumer().poll();
                            message != null;
                            message = queue.consumer().poll()) {
                        popped.add(message);
                        queue.flush();
                        queue.consumer().peek();
                        queue.consumer().ackUpTo(message.offset());
                    }
                    return null;
                })
                .result();
        Payload.assertMessages(0, payloads, popped);
        assertEquals(queue.stats().writingPosition(), queue.stats().watermarkPosition());
        assertPushesAndPops();
    }

    @Test
    void anInterruptedThreadOpensAndCloses() throws Exception {
        queue.push(new byte[7]);
        queue.close();
        MmapQueue opened = Waiting.start(() -> {
                    Thread.currentThread().interrupt();
                    MmapQueue handle = setup.open(directory);
                    handle.push(new byte[8]);
                    handle.close();
                    setup.open(temp.resolve("new")).close();
                    return setup.open(directory);
                })
                .result();
        Payload.assertMessages(0, List.of(new byte[7], new byte[8]), Payload.drain(opened));
        queue = opened;
        assertPushesAndPops();
    }

    @Test
    void interruptsAtAnyMomentLoseNothing() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        List<Waiting.Running<Long>> pushers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            pushers.add(Waiting.start(() -> {
                long pushed = 0;
                while (!stop.get()) {
                    try {
                        queue.push(Payload.of(1, setup.maxEvent), Waiting.LONG);
                        pushed++;
                        queue.pushSync(Payload.of(2, 10), Waiting.LONG);
                        pushed++;
                    } catch (InterruptedException e) {
                        continue; // nothing was stored
                    }
                }
                return pushed;
            }));
        }
        Waiting.Running<Long> popper = Waiting.start(() -> {
            long popped = 0;
            while (true) {
                boolean last = stop.get() && pushers.stream().allMatch(Waiting.Running::isDone);
                try {
                    for (Message message : queue.consumer().popBatch(100, Long.MAX_VALUE, Duration.ofMillis(5))) {
                        assertEquals(popped++, message.offset());
                        queue.consumer().ackUpTo(message.offset());
                    }
                } catch (InterruptedException e) {
                    continue;
                }
                if (last && queue.consumer().lag() == 0) {
                    return popped;
                }
            }
        });
        for (int i = 0; i < 150; i++) {
            pushers.get(i % 2).thread().interrupt();
            if (i % 3 == 0) {
                popper.thread().interrupt();
            }
            Thread.sleep(1);
        }
        stop.set(true);
        long popped = popper.result();
        long pushed = pushers.get(0).result() + pushers.get(1).result();
        assertEquals(pushed, popped);
        assertEquals(pushed, queue.endOffset());
        assertPushesAndPops();
    }
}
