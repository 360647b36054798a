package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A queue that is opened with and without timestamps in turn: a segment may have been begun without any. */
class SwitchedTimestampsTest {
    private static final int ROUNDS = 4;
    private static final int RECORDS = 3;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void eachRecordHasTheTimeOfItsPush() {
        Path directory = temp.resolve("queue");
        long before = System.currentTimeMillis() * 1000;
        for (int round = 0; round < ROUNDS; round++) {
            QueueConfig config = QueueConfig.builder(directory)
                    .segmentSize(4096)
                    .queueCapacitySegments(16)
                    .timestamps(round % 2 == 1)
                    .build();
            try (MmapQueue queue = MmapQueue.open(config)) {
                if (round == 0) {
                    queue.createConsumer("all", StartAt.EARLIEST);
                }
                for (int i = 0; i < RECORDS; i++) {
                    queue.push(Payload.of((long) round * RECORDS + i, 100));
                }
            }
        }
        long after = System.currentTimeMillis() * 1000;
        assertTimes(directory, before, after);
        assertTrue(Verifier.verify(directory, Progress.NONE).isWhole());

        // In larger segments, records of all rounds share one.
        Path copy = temp.resolve("copy");
        Copier.copy(directory, copy, new RingSize(1 << 16, 0), Progress.NONE);
        assertTimes(copy, before, after);
        assertTrue(Verifier.verify(copy, Progress.NONE).isWhole());
    }

    private static void assertTimes(Path directory, long before, long after) {
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(directory).build())) {
            assertEquals(ROUNDS * RECORDS, queue.endOffset());
            for (int i = 0; i < ROUNDS * RECORDS; i++) {
                Message message = queue.get(i);
                assertArrayEquals(Payload.of(i, 100), message.data());
                long time = message.timestampMicros();
                boolean isStamped = i / RECORDS % 2 == 1;
                assertTrue(isStamped ? time >= before && time <= after : time == 0, "record " + i + ": " + time);
            }
        }
    }
}
