package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A reader that cannot open the next segment (no rights, no descriptor, no memory) stays where its last record ends. */
class UnopenedSegmentTest {
    private static final int RECORDS = 40;

    /** Eight records fill a segment, so that the next one begins in the next segment. */
    private static int length(int version) {
        return version == 1 ? 4096 / 8 - 8 : (4096 - 64) / 8 - 16;
    }

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig config(int version) {
        return QueueConfig.builder(temp.resolve("queue"))
                .formatVersion(version)
                .segmentSize(4096)
                .queueCapacitySegments(32)
                .maxInMemSegments(4)
                .maxEventSize(length(version))
                .flushPeriod(Duration.ofMinutes(10))
                .v1Recover("writing")
                .build();
    }

    /** The record after which the segment ends is acked while the next segment cannot be opened. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void anAckAfterTheFailureCommitsTheEndOfARecord(int version) {
        FaultyStorage storage = new FaultyStorage();
        List<Message> popped = new ArrayList<>();
        try (StorageQueue queue = StorageQueue.open(config(version), storage)) {
            for (int i = 0; i < RECORDS; i++) {
                queue.push(Payload.of(i, length(version)));
            }
            popped.add(queue.poll("default"));
            storage.failWhen((call, path) ->
                    call == FaultyStorage.Call.OPEN && path.toString().endsWith("_segment.dat"));
            MmapQueueException failure = assertThrows(MmapQueueException.class, () -> {
                while (true) {
                    popped.add(queue.poll("default"));
                }
            });
            assertTrue(failure.getMessage().contains("_segment.dat"), failure.getMessage());
            assertTrue(popped.size() < RECORDS, "popped " + popped.size());
            queue.ackUpTo("default", popped.size() - 1);
            assertThrows(MmapQueueException.class, () -> queue.poll("default"));
            storage.heal();
        }
        assertEquals(
                List.of(), Verifier.verify(temp.resolve("queue"), Progress.NONE).findings());
        try (StorageQueue queue = StorageQueue.open(config(version), new FaultyStorage())) {
            popped.addAll(queue.pop("default", RECORDS));
        }
        List<byte[]> expected = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            expected.add(Payload.of(i, length(version)));
        }
        assertEquals(RECORDS, popped.size());
        for (int i = 0; i < RECORDS; i++) {
            assertArrayEquals(expected.get(i), popped.get(i).data(), "record " + i);
        }
    }

    /** The same reader goes on once the segment can be opened. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theNextPopGoesOn(int version) {
        FaultyStorage storage = new FaultyStorage();
        try (StorageQueue queue = StorageQueue.open(config(version), storage)) {
            for (int i = 0; i < RECORDS; i++) {
                queue.push(Payload.of(i, length(version)));
            }
            int next = 0;
            for (int failures = 0; next < RECORDS; ) {
                int[] opens = {0};
                boolean fails = failures % 2 == 0;
                storage.failWhen((call, path) -> fails
                        && call == FaultyStorage.Call.OPEN
                        && path.toString().endsWith("_segment.dat")
                        && opens[0]++ == 0);
                try {
                    assertArrayEquals(
                            Payload.of(next, length(version)),
                            queue.poll("default").data(),
                            "record " + next);
                    queue.ackUpTo("default", next);
                    next++;
                } catch (MmapQueueException e) {
                    failures++;
                    if (next > 0) {
                        queue.ackUpTo("default", next - 1);
                    }
                }
            }
        }
        assertEquals(
                List.of(), Verifier.verify(temp.resolve("queue"), Progress.NONE).findings());
    }
}
