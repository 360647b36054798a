package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.concurrent.Gate;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.FaultyStorage.Call;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** A call runs while the queue is closed, and meets a slow disk. */
@Timeout(120)
class CloseBesideCallsTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FaultyStorage storage = new FaultyStorage();
    private final CountDownLatch release = new CountDownLatch(1);
    private final AtomicBoolean blocked = new AtomicBoolean();
    private QueueCore core;

    @BeforeEach
    void open() {
        core = Cores.open(
                QueueConfig.builder(temp.resolve("queue"))
                        .segmentSize(4096)
                        .queueCapacitySegments(8)
                        .flushPeriod(Duration.ofMinutes(10))
                        .build(),
                storage);
        core.consumer("default", StartAt.EARLIEST);
        for (int i = 0; i < 12; i++) {
            core.writer().push(new byte[1000], 0, 1000);
            core.ackUpTo(
                    core.consumer("default", StartAt.EARLIEST),
                    core.poll(core.consumer("default", StartAt.EARLIEST)).offset());
        }
        core.writer().flush();
    }

    @AfterEach
    void close() {
        release.countDown();
        storage.heal();
        core.close();
    }

    // The next such call waits until the test releases it.
    private void block(Call slow, String name) {
        storage.failWhen((call, path) -> {
            if (call == slow && path.getFileName().toString().endsWith(name) && blocked.compareAndSet(false, true)) {
                try {
                    assertTrue(release.await(Waiting.LONG.toSeconds(), TimeUnit.SECONDS));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            return false;
        });
    }

    private <T> Waiting.Running<T> startBlocked(Callable<T> call) {
        Waiting.Running<T> running = Waiting.start(call);
        Waiting.until("the call meets the slow disk", () -> blocked.get() || running.isDone());
        return running;
    }

    private Waiting.Running<Boolean> startClose() {
        return Waiting.start(() -> {
            core.close();
            return true;
        });
    }

    private Map<String, Callable<Object>> calls() {
        Map<String, Callable<Object>> calls = new LinkedHashMap<>();
        calls.put("gc", core::gc);
        calls.put("stats", () -> core.stats().endOffset());
        calls.put("consumerStats", () -> core.consumerStats().size());
        calls.put("metrics", () -> core.metrics().isEmpty());
        calls.put("isFull", core::isFull);
        calls.put("consumerNames", () -> core.consumerNames().size());
        calls.put("passedOffset", () -> core.passedOffset("default").orElseThrow());
        return calls;
    }

    @ParameterizedTest
    @ValueSource(strings = {"gc", "stats", "consumerStats", "metrics", "isFull", "consumerNames", "passedOffset"})
    void theCloseWaitsForARunningCall(String name) throws Exception {
        // As from another process: the next call reads the pages of consumers.
        try (MmapQueue other = MmapQueue.openToRead(temp.resolve("queue"))) {
            other.createConsumer("late", StartAt.LATEST);
        }
        block(Call.OPEN, "late.dat");
        Waiting.Running<Object> running = startBlocked(calls().get(name));
        Waiting.Running<Boolean> closing = startClose().untilItIsIn(Gate.class, "lock");
        assertFalse(running.isDone());
        assertFalse(closing.isDone());
        release.countDown();
        Object result = running.result();
        assertTrue(closing.result());
        switch (name) {
            case "gc" -> assertTrue((long) result > 0, "gc deleted " + result);
            case "stats", "passedOffset" -> assertEquals(12L, result);
            case "consumerStats", "consumerNames" -> assertEquals(2, result);
            default -> assertEquals(false, result);
        }
    }

    @Test
    void aCallAfterTheCloseThrows() {
        Map<String, Callable<Object>> calls = calls();
        core.close();
        calls.forEach((name, call) -> assertThrows(ClosedException.class, call::call, name));
        assertThrows(ClosedException.class, () -> core.writer().producers().lastSequence("someone"));
        assertThrows(ClosedException.class, () -> core.writer().producers().names());
        assertThrows(ClosedException.class, () -> core.writer().flush());
    }

    /** The fsync uses a mapping, which the close must not unmap. */
    @Test
    void theCloseOfAPoisonedQueueWaitsForARunningFsync() throws Exception {
        core.writer().push(new byte[100], 0, 100);
        block(Call.SYNC, "_segment.dat");
        Waiting.Running<Object> flushing = startBlocked(() -> {
            core.writer().flush();
            return null;
        });
        core.writer().flusher().poison(new IllegalStateException("an append has failed"));
        Waiting.Running<Boolean> closing = startClose().untilItIsIn(Flusher.class, "lock");
        assertFalse(flushing.isDone());
        assertFalse(closing.isDone());
        release.countDown();
        assertThrows(PoisonedException.class, flushing::result);
        assertTrue(closing.result());
        assertThrows(ClosedException.class, () -> core.writer().flush());
    }
}
