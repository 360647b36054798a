package org.mmapqueue.spark.read.task;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.source.LocalPartition;
import org.mmapqueue.spark.source.LocalPartitionLocation;
import org.mmapqueue.spark.source.PartitionRecords;
import org.mmapqueue.spark.source.SequentialReader;

/** The number of tasks that read a partition at once is limited. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadPermitsTest {
    @TempDir
    private Path directory;

    @Test
    void tasksWithoutAPermitWaitAndReportTheWait() throws Exception {
        try (MmapQueue queue = open();
                ReadPermits first = ReadPermits.of(partition(queue));
                ReadPermits second = ReadPermits.of(partition(queue))) {
            first.acquire();
            first.acquire();
            FutureTask<Long> third = waitingFor(second);
            long since = System.nanoTime();
            Thread.sleep(10);
            long least = System.nanoTime() - since;
            first.release();
            assertTrue(third.get() >= least);
            second.release();
            first.release();
        }
    }

    private record OfArchive(UUID queueId) implements PartitionRecords {
        @Override
        public int maxReaders() {
            return Integer.MAX_VALUE;
        }

        @Override
        public SequentialReader reader(long from, long to, boolean skipsDamage) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void close() {
            // nothing is open
        }
    }

    @Test
    void theArchiveOfAQueueSharesNoPermitWithIt() throws Exception {
        try (MmapQueue queue = open();
                ReadPermits archive = ReadPermits.of(new OfArchive(queue.id()));
                ReadPermits first = ReadPermits.of(partition(queue));
                ReadPermits second = ReadPermits.of(partition(queue))) {
            archive.acquire();
            first.acquire();
            first.acquire();
            FutureTask<Long> third = waitingFor(second);
            archive.release();
            first.release();
            third.get();
            second.release();
            first.release();
        }
    }

    /** A thread's wait for a third permit of two. */
    private static FutureTask<Long> waitingFor(ReadPermits permits) {
        FutureTask<Long> third = new FutureTask<>(permits::acquire);
        Thread waiting = new Thread(third);
        waiting.start();
        while (waiting.getState() != Thread.State.WAITING) {
            assertTrue(waiting.isAlive(), "a third permit of two was acquired");
            Thread.onSpinWait();
        }
        return third;
    }

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(7)
                .build());
    }

    private LocalPartition partition(MmapQueue queue) {
        return new LocalPartition(
                new LocalPartitionLocation(new PartitionDirectory(0, directory.toString()), "here"), queue);
    }
}
