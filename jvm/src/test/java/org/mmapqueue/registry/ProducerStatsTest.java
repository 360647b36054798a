package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.ProducerStats;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.QuickDirectory;

/** The last batches of producers, read from their pages. */
class ProducerStatsTest {
    private static final int BATCHES = 20_000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig config() {
        return QueueConfig.builder(temp.resolve("queue")).build();
    }

    @Test
    void aReadOnlyHandleSeesTheLastBatches() throws InterruptedException {
        Instant before = Instant.now().minusSeconds(1);
        try (MmapQueue queue = MmapQueue.open(config())) {
            queue.pushOnce("second", 3, List.of(new byte[1], new byte[1]), Duration.ZERO);
            queue.pushOnce("first", 9, List.of(), Duration.ZERO);
        }
        QueueConfig readOnly =
                QueueConfig.builder(temp.resolve("queue")).readOnly(true).build();
        try (MmapQueue queue = MmapQueue.open(readOnly)) {
            List<ProducerStats> found = queue.producerStats();
            assertEquals(
                    List.of(
                            new ProducerStats("first", 9, 2, found.get(0).createdAt()),
                            new ProducerStats("second", 3, 2, found.get(1).createdAt())),
                    found);
            assertTrue(found.get(0).createdAt().isAfter(before));
        }
    }

    @Test
    void aPageIsReadWhileItIsStored() throws InterruptedException {
        try (MmapQueue queue = MmapQueue.open(config())) {
            queue.pushOnce("p", 0, List.of(new byte[1]), Duration.ZERO);
            CompletableFuture<Void> pushing = CompletableFuture.runAsync(() -> pushAll(queue));
            long last = 0;
            while (last < BATCHES) {
                ProducerStats found = queue.producerStats().get(0);
                assertTrue(found.lastSequence() >= last, found + " after " + last);
                assertEquals(found.lastSequence() + 1, found.endOffset());
                last = found.lastSequence();
            }
            pushing.join();
        }
    }

    private static void pushAll(MmapQueue queue) {
        try {
            for (int sequence = 1; sequence <= BATCHES; sequence++) {
                queue.pushOnce("p", sequence, List.of(new byte[1]), Duration.ZERO);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aDamagedPageThrows() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config())) {
            queue.pushOnce("p", 0, List.of(new byte[1]), Duration.ZERO);
            Path page = temp.resolve("queue").resolve("producers").resolve("p.dat");
            try (FileChannel file = FileChannel.open(page, StandardOpenOption.WRITE)) {
                file.write(ByteBuffer.wrap(new byte[] {77}), 512);
            }
            CorruptException error = assertThrows(CorruptException.class, queue::producerStats);
            assertEquals(page.toString(), error.file());
        }
    }
}
