package org.mmapqueue.spark.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.PartitionDirectory;

/** A range is planned while the slowest consumer acks its first records. */
class LocalPartitionTest {
    private static final int RECORDS = 100;
    private static final int ACKED = 30;

    @TempDir
    private Path directory;

    private MmapQueue queue;
    private LocalPartition partition;

    @BeforeEach
    void ackTheFirstRecords() {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .build());
        partition = new LocalPartition(
                new LocalPartitionLocation(new PartitionDirectory(0, directory.toString()), "here"), queue);
        for (int i = 0; i < RECORDS; i++) {
            queue.push(new byte[200]);
        }
        queue.consumer("only", StartAt.EARLIEST).seek(StartAt.offset(ACKED));
    }

    @AfterEach
    void close() {
        queue.close();
    }

    @Test
    void recordsThatAreNotRetainedAnyMoreTakeNoBytes() {
        assertEquals(queue.bytes(ACKED, RECORDS), partition.bytes(0, RECORDS));
        assertEquals(0, partition.bytes(0, ACKED));
        assertEquals(0, partition.bytes(5, 10));
    }

    @Test
    void theyAreInTheFirstPart() {
        long[] retained = queue.split(ACKED, RECORDS, 3000);
        retained[0] = 0;
        assertArrayEquals(retained, partition.split(0, RECORDS, 3000));
        assertArrayEquals(new long[] {0, ACKED}, partition.split(0, ACKED, 3000));
        assertArrayEquals(new long[] {5, 10}, partition.split(5, 10, 3000));
    }

    @Test
    void recordsThatWereNotPushedYetAreAnError() {
        assertThrows(OutOfRangeException.class, () -> partition.bytes(ACKED, RECORDS + 1));
        assertThrows(OutOfRangeException.class, () -> partition.split(0, RECORDS + 1, 3000));
    }
}
