package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.FaultyStorage.Call;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/** Calls to the disk while the ring wraps: a bounded number for each segment, none for each record. */
class FileCallsTest {
    private static final int SEGMENT = 4096;
    private static final byte[] RECORD = new byte[100];
    private static final int RECORDS_A_SEGMENT = SEGMENT / 128;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private final Map<Call, Integer> calls = new EnumMap<>(Call.class);

    private int count(Call call) {
        return calls.getOrDefault(call, 0);
    }

    private static void pushPopAndAck(StorageQueue queue) {
        for (int i = 0; i < RECORDS_A_SEGMENT; i++) {
            queue.push(RECORD);
            queue.ackUpTo("default", queue.poll("default").offset());
        }
        queue.housekeeperStep();
    }

    // When every slot is mapped, a slot is mapped again only after an fsync.
    @ParameterizedTest
    @CsvSource({"16, 16, 0", "16, 16, 1", "16, 16, 8", "64, 10, 0", "64, 10, 1", "64, 10, 8", "64, 4, 0", "64, 4, 8"})
    void aGenerationCallsTheDiskOnceForEachSegment(int capacity, int mapped, int flushEvery) {
        FaultyStorage storage = new FaultyStorage();
        storage.failWhen((call, path) -> {
            calls.merge(call, 1, Integer::sum);
            return false;
        });
        QueueConfig config = QueueConfig.builder(directory.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(mapped)
                .flushCeilingNum(1_000_000)
                .build();
        try (StorageQueue queue = StorageQueue.open(config, storage)) {
            for (int id = 0; id < 2 * capacity; id++) {
                pushPopAndAck(queue);
            }
            queue.flush();
            calls.clear();
            long from = queue.stats().writingPosition() / SEGMENT;
            int flushes = 0;
            for (int id = 0; id < capacity; id++) {
                pushPopAndAck(queue);
                if (flushEvery > 0 && id % flushEvery == 0) {
                    queue.flush();
                    flushes++;
                }
            }
            // Preallocation is some segments ahead at both ends of the generation.
            int segments = (int) (queue.stats().writingPosition() / SEGMENT - from) + 2;
            assertTrue(count(Call.ZERO_FILL) >= segments - 4 && count(Call.ZERO_FILL) <= segments, calls::toString);
            // Without flushes only the pages with cursors are fsynced, for each half of the ring that is reused.
            int syncs = 3 * (flushes + 4);
            assertTrue(count(Call.SYNC) >= Math.max(1, flushes) && count(Call.SYNC) <= syncs, calls::toString);
            boolean kept = capacity == mapped;
            int mappings = kept ? Math.min(segments, syncs) : segments + 2;
            assertTrue(count(Call.MAP) <= mappings, calls::toString);
            assertTrue(count(Call.OPEN) <= (kept ? 0 : 2 * segments), calls::toString);
            // An fsync of a segment reads one byte, which shows whether the file was truncated.
            assertTrue(count(Call.READ) <= count(Call.SYNC), calls::toString);
            assertEquals(0, count(Call.WRITE) + count(Call.RENAME) + count(Call.DELETE), calls::toString);
        }
    }
}
