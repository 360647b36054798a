package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Records that are retained after every consumer has acked them. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RetentionTest {
    private static final int SEGMENT = 4096;
    private static final int CAPACITY = 16;
    /** Payload length of 320-byte records: twelve fit into a segment, and the thirteenth begins in it. */
    private static final int LENGTH = 304;

    private static final int FOOTPRINT = LENGTH + 16;
    private static final long DAY = Duration.ofDays(1).toMillis();

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    private MmapQueue queue;

    private void open(long millis, long bytes) {
        directory = directory == null ? temp.resolve("queue") : directory;
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(6)
                .flushPeriod(Duration.ofMillis(600_000))
                .retain(Duration.ofMillis(millis))
                .retainBytes(bytes)
                .build());
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void pushAndAck(int count) {
        for (int i = 0; i < count; i++) {
            long offset = queue.push(Payload.numbered(queue.endOffset(), LENGTH));
            assertEquals(offset, queue.consumer().pop().offset());
            queue.consumer().ackUpTo(offset);
        }
    }

    /** Every record from the first offset on is readable and none before; returns how many they are. */
    private int assertRetained() {
        long end = queue.endOffset();
        long first;
        List<Message> all;
        do {
            first = queue.firstOffset();
            all = readFrom(first, end);
        } while (first != queue.firstOffset()); // segments are also reclaimed ahead of the writer
        assertEquals(end - first, all.size());
        for (int i = 0; i < all.size(); i++) {
            assertEquals(first + i, all.get(i).offset());
            assertEquals(first + i, Payload.numberOf(all.get(i).data()));
        }
        if (first > 0) {
            long gone = first - 1;
            assertThrows(OutOfRangeException.class, () -> queue.get(gone));
        }
        return all.size();
    }

    private List<Message> readFrom(long first, long end) {
        try {
            return first == end ? List.of() : queue.getMany(first, Integer.MAX_VALUE);
        } catch (OutOfRangeException e) {
            assertTrue(queue.firstOffset() > first, "first offset " + first + ": " + e.getMessage());
            return List.of();
        }
    }

    @Test
    void withoutRetentionTheFirstOffsetIsTheLowWatermark() {
        open(0, 0);
        queue.createConsumer("slow", StartAt.EARLIEST);
        pushAndAck(40);
        assertEquals(0, queue.firstOffset());
        Consumer slow = queue.consumer("slow", StartAt.EARLIEST);
        Payload.drain(slow);
        slow.ackUpTo(16);
        assertEquals(17, queue.firstOffset());
        slow.ackUpTo(39);
        assertEquals(40, queue.firstOffset());
        assertThrows(OutOfRangeException.class, () -> queue.get(39));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4096, 10_000, 20_000, 40_000})
    void retainBytesKeepsWholeSegments(int bytes) {
        open(0, bytes);
        for (int i = 0; i < 30; i++) {
            pushAndAck(17);
            long kept = assertRetained() * (long) FOOTPRINT;
            long all = queue.endOffset() * FOOTPRINT;
            assertTrue(kept + SEGMENT >= Math.min(all, bytes), kept + " bytes of " + all);
            assertTrue(kept <= bytes + SEGMENT, kept + " bytes of " + all);
        }
    }

    @Test
    void retentionNeverBlocksTheWriter() {
        open(DAY, 1 << 30);
        for (int i = 0; i < 40; i++) {
            pushAndAck(30); // never full
            long least = Math.min(queue.endOffset(), (CAPACITY - 4L) * SEGMENT / FOOTPRINT);
            int kept = assertRetained();
            assertTrue(kept >= least, kept + " records of " + queue.endOffset());
        }
        assertTrue(queue.firstOffset() > 0);
    }

    @Test
    void retainedRecordsCanBeConsumedAgain() {
        open(DAY, 0);
        pushAndAck(60);
        assertEquals(0, queue.firstOffset());
        Consumer late = queue.consumer("late", StartAt.EARLIEST);
        assertEquals(60, Payload.drain(late).size());
        late.ackUpTo(59);
        queue.consumer().seek(StartAt.offset(20));
        assertEquals(20, queue.consumer().pop().offset());
        queue.consumer().seek(StartAt.EARLIEST);
        assertEquals(0, queue.consumer().pop().offset());
        assertEquals(60, queue.consumer().lag());
        // An unacked record holds space; retention alone does not.
        assertThrows(FullException.class, () -> {
            for (int i = 0; i < 1000; i++) {
                queue.push(Payload.numbered(queue.endOffset(), LENGTH));
            }
        });
        assertEquals(0, queue.firstOffset());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void retentionSurvivesAReopening(boolean killed) {
        open(0, 20_000);
        pushAndAck(400);
        long first = queue.firstOffset();
        assertTrue(first > 0 && first < 400);
        Path copy = Directories.copy(directory, temp.resolve("copy"));
        queue.close();
        directory = killed ? copy : directory;
        open(0, 20_000);
        long after = queue.firstOffset();
        // A recovery leaves the rest of the last segment unused, which counts as retained.
        assertTrue(after >= first && after <= first + (killed ? 2 * SEGMENT / FOOTPRINT : 0), first + ", " + after);
        assertRetained();
    }

    @Test
    void aWriterWithoutRetentionKeysKeepsTheStoredOnes() {
        open(DAY, 1 << 20);
        pushAndAck(100);
        queue.close();
        queue = MmapQueue.open(QueueConfig.builder(directory).build());
        assertEquals(Long.toString(DAY), queue.config().asMap().get("retain_ms"));
        assertEquals("1048576", queue.config().asMap().get("retain_bytes"));
        assertEquals(0, queue.firstOffset());
        queue.close();
        queue = MmapQueue.open(
                QueueConfig.builder(directory).retain(Duration.ofMillis(0)).build());
        assertEquals("0", queue.config().asMap().get("retain_ms"));
        assertEquals("1048576", queue.config().asMap().get("retain_bytes"));
    }

    @Test
    void theNextWriterMayChangeRetention() {
        open(0, 1 << 20);
        pushAndAck(100);
        assertEquals(0, queue.firstOffset());
        queue.close();
        open(0, 8000);
        long first = queue.firstOffset();
        assertTrue(first > 50, "first " + first);
        queue.close();
        open(0, 0);
        assertEquals(100, queue.firstOffset());
        queue.close();
        open(DAY, 0);
        assertEquals(0, queue.firstOffset());
        assertRetained();
    }

    /** A period that begins before 1970 retains every record. */
    @ParameterizedTest
    @ValueSource(longs = {Long.MAX_VALUE, Long.MAX_VALUE / 1000 + 1, Long.MAX_VALUE / 2})
    void aPeriodOfAnyLengthRetainsAll(long millis) {
        open(millis, 0);
        pushAndAck(60);
        assertEquals(0, queue.firstOffset());
        assertEquals(0, queue.gc());
        assertEquals(60, assertRetained());
    }

    @Test
    void segmentsOlderThanRetainMillisAreReclaimed() {
        open(1, 0);
        pushAndAck(100);
        // The last segment stays: its newest timestamp is known once the next one begins.
        Waiting.until("the first segments are older than 1 ms", () -> queue.firstOffset() >= 70);
        assertRetained();
    }

    @Test
    void noSegmentIsReclaimedBeforeRetainMillis() {
        open(DAY, 0);
        pushAndAck(150);
        assertEquals(0, queue.firstOffset());
        assertRetained();
    }

    @Test
    void theNarrowerLimitApplies() {
        open(DAY, 8000);
        pushAndAck(150);
        long kept = assertRetained() * (long) FOOTPRINT;
        assertTrue(kept <= 8000 + SEGMENT, kept + " bytes");
        queue.close();
        open(1, 1 << 20);
        Waiting.until("the first segments are older than 1 ms", () -> queue.firstOffset() >= 110);
    }

    @Test
    void unackedRecordsAreRetainedAtAnyAgeAndSize() {
        open(1, 1);
        queue.createConsumer("slow", StartAt.EARLIEST);
        pushAndAck(100);
        assertEquals(0, queue.firstOffset());
        assertEquals(100, assertRetained());
    }

    @Test
    void gcKeepsRetainedRecords() {
        open(0, 20_000);
        pushAndAck(180);
        int before = assertRetained();
        assertTrue(queue.gc() > 0);
        assertEquals(before, assertRetained());
        assertTrue(Directories.segments(directory).size() < CAPACITY);
        pushAndAck(400);
        assertRetained();
    }
}
