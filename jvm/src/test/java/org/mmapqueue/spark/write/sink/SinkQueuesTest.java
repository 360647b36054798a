package org.mmapqueue.spark.write.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.io.DiskStorage;

/** Sharing of open queues, and waits for opening. */
@Timeout(120)
class SinkQueuesTest {
    private static final SinkConfig CONFIG = new SinkConfig(1, Map.of("segment_size", "4096"));
    private static final Push PUSH = new Push(Duration.ZERO, false, true);

    @TempDir
    Path temp;

    private final CountDownLatch isOpening = new CountDownLatch(1);
    private final CountDownLatch mayOpen = new CountDownLatch(1);

    private SinkQueues.Lease acquire(String name, SinkDisk disk) throws Exception {
        return SinkQueues.acquire(temp.resolve(name), "q", CONFIG, PUSH, Duration.ZERO, disk);
    }

    private MmapQueue openSlowly(QueueConfig config) {
        isOpening.countDown();
        try {
            assertTrue(mayOpen.await(60, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return MmapQueue.open(config);
    }

    @Test
    void aSlowOpenDoesNotBlockOtherQueues() throws Exception {
        SinkDisk slow = new SinkDisk(DiskStorage.INSTANCE, this::openSlowly);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            Future<SinkQueues.Lease> first = threads.submit(() -> acquire("slow", slow));
            assertTrue(isOpening.await(60, TimeUnit.SECONDS));
            Future<SinkQueues.Lease> second = threads.submit(() -> acquire("slow", slow));
            try (SinkQueues.Lease other = acquire("other", SinkDisk.REAL)) {
                assertEquals(1, other.queue().count());
            }
            assertFalse(first.isDone());
            mayOpen.countDown();
            try (SinkQueues.Lease one = first.get();
                    SinkQueues.Lease two = second.get()) {
                assertSame(one.queue(), two.queue());
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void aQueueIsReopenedAfterTheLastWriteAndAfterAFailure() throws Exception {
        SinkQueue before;
        try (SinkQueues.Lease lease = acquire("queue", SinkDisk.REAL)) {
            before = lease.queue();
            assertThrows(
                    IllegalArgumentException.class,
                    () -> SinkQueues.acquire(
                            temp.resolve("queue"), "other", new SinkConfig(3, Map.of()), PUSH, Duration.ZERO));
            assertSame(before, lease.queue());
        }
        try (MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(temp.resolve("queue")).maxInMemSegments(77).build())) {
            assertEquals("77", queue.config().asMap().get("max_in_mem_segments"), "the queue was closed first");
        }
        assertThrows(
                IllegalStateException.class,
                () -> acquire("queue", new SinkDisk(DiskStorage.INSTANCE, config -> {
                    throw new IllegalStateException("as if it were damaged");
                })));
        try (SinkQueues.Lease lease = acquire("queue", SinkDisk.REAL)) {
            assertNotSame(before, lease.queue());
        }
    }

    @Test
    void aReplacedQueueIsNotWritten() throws Exception {
        Path root = temp.resolve("queue");
        try (SinkQueues.Lease lease = acquire("queue", SinkDisk.REAL)) {
            assertEquals(1, lease.queue().count());
            UUID former = MmapQueue.idIn(root).orElseThrow();
            Files.move(root, temp.resolve("away"));
            IllegalStateException gone =
                    assertThrows(IllegalStateException.class, () -> acquire("queue", SinkDisk.REAL));
            assertTrue(gone.getMessage().contains("there is none now"), gone.getMessage());
            Files.move(made("other"), root);
            UUID next = MmapQueue.idIn(root).orElseThrow();
            IllegalStateException replaced =
                    assertThrows(IllegalStateException.class, () -> acquire("queue", SinkDisk.REAL));
            assertTrue(replaced.getMessage().contains(former.toString()), replaced.getMessage());
            assertTrue(replaced.getMessage().contains(next.toString()), replaced.getMessage());
        }
        try (SinkQueues.Lease lease = acquire("queue", SinkDisk.REAL)) {
            assertEquals(1, lease.queue().count(), "the other queue, after the former one is closed");
        }
    }

    private Path made(String name) {
        Path path = temp.resolve(name);
        MmapQueue.open(QueueConfig.builder(path).segmentSize(4096).build()).close();
        return path;
    }
}
