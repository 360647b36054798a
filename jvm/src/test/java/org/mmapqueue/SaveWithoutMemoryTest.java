package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The flusher's thread saves the records in flight, and memory runs out, or the disk is full. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SaveWithoutMemoryTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void theQueueGoesOnAndSavesAgain() {
        assertGoesOn(() -> {
            throw new OutOfMemoryError("of the test");
        });
    }

    /** The file of the log is on the same full disk, and its appender throws. */
    @Test
    void anExceptionOfTheLogEndsNothing() {
        Appender throwing = Appender.throwing(Consumers.class);
        try (throwing) {
            assertGoesOn(() -> true);
        }
    }

    /** @param failure returns whether the call on the file fails, or throws */
    private void assertGoesOn(BooleanSupplier failure) {
        TestDisk disk = new TestDisk();
        AtomicInteger failed = new AtomicInteger();
        try (MmapQueue queue = disk.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .flushPeriod(Duration.ofMillis(10))
                .build())) {
            queue.push(new byte[1]);
            Consumer consumer = queue.consumer();
            consumer.nack(consumer.pop());
            disk.watch((isSync, path) -> {
                if (path.toString().contains(".inflight")) {
                    failed.incrementAndGet();
                    return failure.getAsBoolean();
                }
                return false;
            });
            Flusher flusher = queue.core().writer().flusher();
            flusher.start();
            Waiting.until("it saves again", () -> failed.get() > 1 || flusher.failure() != null);
            assertNull(flusher.failure(), "no fsync has failed");
            disk.heal();
            queue.push(new byte[1]);
            queue.flush();
        }
    }
}
