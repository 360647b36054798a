package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A recovery that begins at a position at which no record begins. */
class RecoveryStartTest {
    private static final int SEGMENT = 4096;
    private static final int RECORDS = 12;
    private static final int RECLAIMED = 832;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void insideOfARecordThatGoesOnInTheNextSegment() {
        Path killed = temp.resolve("killed");
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(8000)
                .flushPeriod(Duration.ofMinutes(10))
                .build())) {
            for (int i = 0; i < RECORDS; i++) {
                queue.push(Payload.of(i, 900));
            }
            assertTrue(queue.stats().writingPosition() > 2 * SEGMENT);
            Directories.copy(temp.resolve("queue"), killed);
        }
        Directories.putWord(killed.resolve("meta.dat"), RECLAIMED, SEGMENT); // a bit of it has flipped
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(killed).build())) {
            assertEquals(RECORDS, queue.endOffset());
            for (int i = 0; i < RECORDS; i++) {
                assertArrayEquals(Payload.of(i, 900), queue.consumer().pop().data());
            }
            assertNull(queue.consumer().poll());
        }
    }
}
