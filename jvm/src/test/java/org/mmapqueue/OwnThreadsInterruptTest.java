package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.io.Threads;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Other code interrupts a thread of the library: the thread drops the interrupt, and continues. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OwnThreadsInterruptTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private @Nullable Appender appender;

    private void listen(Runnable inLog) {
        appender = Appender.of(Threads.class, line -> inLog.run());
    }

    @AfterEach
    void stopListening() {
        Appender open = appender;
        if (open != null) {
            open.close();
        }
    }

    private static List<Thread> own() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().contains("interrupted-queue")
                        || each.getName().equals("mmapqueue-ticker"))
                .toList();
    }

    private static Set<String> names() {
        return own().stream().map(Thread::getName).collect(Collectors.toSet());
    }

    /** @param throwing whether the log throws, as an appender does whose disk is full */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anInterruptOfAnOwnThreadStaysNotPendingAndEndsNothing(boolean throwing) throws Exception {
        if (throwing) {
            listen(() -> {
                throw new IllegalStateException("of the test");
            });
        }
        QueueConfig config = QueueConfig.builder(temp.resolve("interrupted-queue"))
                .archiveUri(temp.resolve("archive").toUri())
                .shipPeriod(Duration.ofMillis(5))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            byte[] data = {1, 2, 3};
            queue.pushAsync(data, true).get(1, TimeUnit.MINUTES);
            Waiting.until("dense pushes start the ticker", () -> {
                for (int i = 0; i < 1000; i++) {
                    queue.push(data);
                }
                return names().contains("mmapqueue-ticker");
            });
            queue.awaitShipped(0, Waiting.LONG);
            Waiting.until("the upkeep has started", () -> names().size() >= 6);
            Set<String> before = names();
            for (int round = 0; round < 20; round++) {
                List<Thread> threads = own();
                threads.forEach(Thread::interrupt);
                for (Thread each : threads) {
                    Waiting.until(each.getName() + " drops the interrupt", () -> !each.isInterrupted());
                }
                long last = queue.pushAsync(data, true).get(1, TimeUnit.MINUTES);
                assertTrue(queue.awaitShipped(last, Waiting.LONG));
            }
            Set<String> after = names();
            before.remove("mmapqueue-ticker"); // it may have ended since no push wants it
            after.remove("mmapqueue-ticker");
            assertEquals(before, after);
        }
    }

    /** The log is the program's code: it may push to the queue, and another thread that pushes may request a flush. */
    @Test
    void theFlusherLogsAnInterruptWithoutItsLock() {
        QueueConfig config = QueueConfig.builder(temp.resolve("interrupted-queue"))
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            CountDownLatch requested = new CountDownLatch(1);
            listen(() -> {
                Thread other = new Thread(() -> {
                    queue.core().writer().flusher().request();
                    requested.countDown();
                });
                other.start();
                Threads.join(other);
            });
            own().stream().filter(each -> each.getName().endsWith("-flusher")).forEach(Thread::interrupt);
            Waiting.until("a flush is requested", () -> requested.getCount() == 0);
        }
    }
}
