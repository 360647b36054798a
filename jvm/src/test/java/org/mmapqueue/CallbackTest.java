package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

/** Callbacks that close their caller, wait for other threads, are slow, or throw. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallbackTest extends Callbacks {
    @ParameterizedTest
    @EnumSource(Caller.class)
    void aCallbackMayCloseTheQueue(Caller caller) throws Exception {
        List<Long> seen = new ArrayList<>();
        if (caller.isPush()) {
            assertThrows(ClosedException.class, () -> caller.call(queue, queue.consumer(), queue::close, seen));
        } else {
            caller.call(queue, queue.consumer(), queue::close, seen);
            assertEquals(0, seen.get(0));
        }
        assertThrows(ClosedException.class, () -> queue.consumer().poll());
        queue = openIn("queue");
        assertEquals(RECORDS, queue.endOffset());
        Payload.assertMessages(
                0, range(0, RECORDS).stream().map(i -> Payload.of(i, 300)).toList(), Payload.drain(queue));
    }

    @ParameterizedTest
    @EnumSource(Caller.class)
    void aCallbackMayCallTheQueue(Caller caller) throws Exception {
        Consumer consumer = queue.consumer("default", StartAt.EARLIEST);
        Consumer other = queue.consumer("other", StartAt.EARLIEST);
        List<Long> seen = new ArrayList<>();
        caller.call(
                queue,
                consumer,
                () -> {
                    assertNotNull(queue.stats());
                    assertEquals(2, queue.consumerStats().size());
                    assertNotNull(queue.get(5));
                    assertEquals(0, queue.firstOffset());
                    queue.pushBatch(List.of(new byte[9], new byte[10]));
                    queue.flush();
                    assertNotNull(other.poll());
                    other.ackUpTo(other.readOffset() - 1);
                    other.nack(other.poll().offset());
                    other.seek(StartAt.EARLIEST);
                    assertNotNull(consumer.peek());
                    consumer.poll();
                    consumer.ackUpTo(consumer.readOffset() - 1);
                    assertEquals(0, consumer.unacked());
                    consumer.nack(consumer.poll().offset());
                    consumer.seek(StartAt.LATEST);
                    assertEquals(0, consumer.lag());
                    try (MmapQueue again = openIn("queue");
                            MmapQueue elsewhere = openIn("elsewhere")) {
                        assertEquals(queue.endOffset(), again.endOffset());
                        assertEquals(0, elsewhere.push(new byte[1]) % RECORDS);
                    } finally {
                        Directories.delete(temp.resolve("elsewhere"));
                    }
                },
                seen);
        assertFalse(seen.isEmpty());
        assertTrue(consumer.committedOffset() >= RECORDS);
        consumer.seek(StartAt.LATEST);
        queue.push(new byte[3]);
        assertEquals(3, consumer.pop().data().length);
    }

    /** Records popped before the close or the deletion are still delivered; the consumer's lock is free. */
    @Test
    void aHandlerMayCloseAndDeleteItsConsumer() throws Exception {
        for (boolean deletes : new boolean[] {false, true}) {
            Consumer consumer = queue.consumer("own", StartAt.EARLIEST);
            List<Long> seen = new ArrayList<>();
            Caller.POP_BATCH.call(
                    queue,
                    consumer,
                    () -> {
                        if (deletes) {
                            queue.deleteConsumer("own");
                        } else {
                            consumer.close();
                        }
                    },
                    seen);
            assertTrue(seen.size() > 1, "one record was popped at once");
            assertEquals(range(0, seen.size()), seen);
            assertThrows(ClosedException.class, consumer::poll);
            assertFalse(queue.owns("own"));
            assertEquals(0, queue.consumer("own", StartAt.EARLIEST).peek().offset());
        }
        Waiting.Running<Message> popBatch = Waiting.start(() -> queue.consumer("own", StartAt.EARLIEST)
                .popBatch(100, Long.MAX_VALUE, Waiting.LONG)
                .get(0));
        assertEquals(0, popBatch.result().offset());
        queue.close();
    }

    /** The first batch ends there; a later one copies more at once, so that threads that share a consumer get long batches. */
    @Test
    void aBatchBetweenWhoseCopiesAnotherThreadPopsHasNoHole() throws InterruptedException {
        Consumer consumer = queue.consumer();
        List<Long> popped = new ArrayList<>();
        List<Long> seen = new ArrayList<>();
        Caller.POP_BATCH.call(queue, consumer, () -> popped.add(consumer.pop().offset()), seen);
        int first = seen.size();
        assertTrue(first > 1 && first < RECORDS - 1, () -> first + " records were popped at once");
        assertEquals(range(0, first), seen);
        assertEquals(List.of((long) first), popped);
        seen.clear();
        consumer.seek(StartAt.EARLIEST);
        Caller.POP_BATCH.call(queue, consumer, consumer::poll, seen);
        assertEquals(range(0, RECORDS), seen);
    }

    @Test
    void anEarlierPopReleasesNoRecordPoppedAfterASeek() {
        Consumer consumer = queue.consumer();
        IllegalStateException failure = new IllegalStateException("handler");
        assertSame(
                failure,
                assertThrows(
                        IllegalStateException.class,
                        () -> consumer.popBatch(
                                3,
                                Long.MAX_VALUE,
                                Duration.ZERO,
                                (offset, timestamp, buffer, start, length, attempts) -> {
                                    consumer.seek(StartAt.EARLIEST);
                                    assertEquals(0, consumer.pop().offset());
                                    throw failure;
                                })));
        assertEquals(1, consumer.pop().offset());
        assertEquals(2, consumer.unacked());
    }

    @ParameterizedTest
    @EnumSource(Caller.class)
    void aSlowCallbackBlocksNoOtherThread(Caller caller) throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch proceed = new CountDownLatch(1);
        Consumer consumer = queue.consumer();
        Waiting.Running<List<Long>> slow = Waiting.start(() -> {
            List<Long> seen = new ArrayList<>();
            caller.call(
                    queue,
                    consumer,
                    () -> {
                        inside.countDown();
                        await(proceed);
                    },
                    seen);
            return seen;
        });
        await(inside);
        // The callback waits during all of these calls.
        queue.push(new byte[5]);
        assertTrue(consumer.popBatch(100, Long.MAX_VALUE, Duration.ofMillis(50)).size() > 0);
        assertTrue(consumer.popBatch(1, Long.MAX_VALUE, Duration.ofMillis(50)).isEmpty());
        Waiting.Running<Message> waiting =
                Waiting.start(() -> consumer.pop(Waiting.LONG)).untilItWaits();
        waiting.thread().interrupt();
        assertThrows(InterruptedException.class, waiting::result);
        assertNotNull(queue.get(3));
        try (MmapQueue unrelated = openIn("unrelated");
                MmapQueue same = openIn("queue")) {
            assertEquals(0, unrelated.push(new byte[1]));
            assertNotNull(same.stats());
        }
        // The queue can be closed, too.
        if (!caller.isPush()) {
            queue.close();
        }
        proceed.countDown();
        assertFalse(slow.result().isEmpty());
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(60, TimeUnit.SECONDS), "the other thread hangs");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The handler opens a queue while another thread closes this one, or reads its gauges. */
    @Test
    void aHandlerMayOpenQueuesDuringAClose() throws Exception {
        QueueListener.Figures[] figures = {null};
        QueueListener listener = new QueueListener() {
            @Override
            public void opened(Path directory, Figures now) {
                if (directory.endsWith("queue")) {
                    figures[0] = now;
                }
            }

            @Override
            public void closed(Path directory, Figures figures) {
                // not tested here
            }
        };
        MmapQueue.addListener(listener);
        try {
            for (boolean closes : new boolean[] {false, true}) {
                CountDownLatch inside = new CountDownLatch(1);
                Waiting.Running<Optional<QueueStats>> other = Waiting.start(() -> {
                    await(inside);
                    if (closes) {
                        queue.close();
                    }
                    figures[0].consumerStats();
                    return figures[0].stats();
                });
                assertTrue(queue.consumer().poll((offset, timestamp, buffer, start, length, attempts) -> {
                    inside.countDown();
                    for (int i = 0; i < 20; i++) {
                        openIn("other" + i % 3).close();
                    }
                }));
                assertEquals(!closes, other.result().isPresent());
            }
        } finally {
            MmapQueue.removeListener(listener);
        }
    }

    /** Each of two running handlers opens the other one's consumer. */
    @Test
    void handlersMayOpenEachOthersConsumers() throws Exception {
        Consumer one = queue.consumer("one", StartAt.EARLIEST);
        Consumer two = queue.consumer("two", StartAt.EARLIEST);
        CountDownLatch both = new CountDownLatch(2);
        List<Waiting.Running<Integer>> running = new ArrayList<>();
        for (List<Consumer> pair : List.of(List.of(one, two), List.of(two, one))) {
            running.add(Waiting.start(() -> pair.get(0)
                    .popBatch(1, 1, Duration.ZERO, (offset, timestamp, buffer, start, length, attempts) -> {
                        both.countDown();
                        await(both);
                        assertEquals(RECORDS - 1, pair.get(1).size());
                        pair.get(1).ackUpTo(0);
                    })));
        }
        for (Waiting.Running<Integer> each : running) {
            assertEquals(1, each.result());
        }
        assertEquals(1, one.committedOffset());
        assertEquals(1, two.committedOffset());
    }

    @Test
    void aFifoInsteadOfAQueueFileThrows() throws Exception {
        queue.close();
        Path meta = temp.resolve("queue").resolve("meta.dat");
        java.nio.file.Files.delete(meta);
        assertEquals(0, new ProcessBuilder("mkfifo", meta.toString()).start().waitFor());
        MmapQueueException thrown = assertThrows(MmapQueueException.class, () -> openIn("queue"));
        assertTrue(thrown.getMessage().contains("not a regular file"), thrown.getMessage());
        openIn("other").close();
    }
}
