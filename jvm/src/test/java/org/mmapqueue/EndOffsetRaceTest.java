package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.QuickDirectory;

/** An end offset that a thread has seen is the end for what it does next, beside pushes and pops of other threads. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EndOffsetRaceTest {
    private static final int LOOKS = 20_000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void eachRecordBeforeTheEndIsFound() throws Exception {
        race(queue -> end -> {
            if (end > 0) {
                try {
                    assertEquals(end - 1, queue.get(end - 1).offset());
                } catch (OutOfRangeException e) {
                    assertTrue(e.first() >= end, e.getMessage()); // acked, and its segment reclaimed
                }
            }
        });
    }

    @Test
    void theLatestIsNotBeforeTheEnd() throws Exception {
        race(queue -> {
            Consumer consumer = queue.consumer("other", StartAt.LATEST);
            return end -> {
                consumer.seek(StartAt.LATEST);
                assertTrue(consumer.readOffset() >= end, consumer.readOffset() + " is before " + end);
            };
        });
    }

    private interface Look {
        LongConsumer in(MmapQueue queue);
    }

    private void race(Look look) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        AtomicBoolean over = new AtomicBoolean();
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(1 << 20)
                .queueCapacitySegments(8)
                .build())) {
            Consumer popping = queue.consumer();
            Future<?> pushes = threads.submit(() -> {
                while (!over.get()) {
                    queue.offer(new byte[8]); // does nothing while the ring is full
                }
                return null;
            });
            Future<?> pops = threads.submit(() -> {
                while (!pushes.isDone()) {
                    Message message = popping.poll();
                    if (message != null) {
                        popping.ack(message.offset());
                    }
                }
                return null;
            });
            try {
                LongConsumer check = look.in(queue);
                for (int i = 0; i < LOOKS; i++) {
                    check.accept(queue.endOffset());
                }
            } finally {
                over.set(true);
            }
            pushes.get();
            pops.get();
        } finally {
            threads.shutdownNow();
        }
    }
}
