package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** gc deletes ring files without retained records. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GcTest {
    private static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    /** A queue without its threads, so that no file is preallocated. */
    private QueueCore core;

    private ConsumerCore consumer;

    private QueueConfig.Builder config(int version) {
        directory = directory == null ? temp.resolve("queue") : directory;
        return QueueConfig.builder(directory)
                .formatVersion(version)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(6000)
                .flushPeriod(Duration.ofMinutes(10));
    }

    private void open(int version) {
        QueueConfig config = version == 1
                ? config(1).v1Recover("writing").build()
                : config(2).build();
        core = Cores.open(config, DiskStorage.INSTANCE);
        consumer = core.consumer("default", StartAt.EARLIEST);
    }

    @AfterEach
    void close() {
        if (core != null) {
            core.close();
        }
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            byte[] payload = Payload.numbered(core.endOffset(), i % 20 == 19 ? 6000 : 300);
            core.writer().push(payload, 0, payload.length);
        }
    }

    private void popAndAck(long first, int count) {
        for (long offset = first; offset < first + count; offset++) {
            Message message = core.poll(consumer);
            assertEquals(offset, message.offset());
            assertEquals(offset, Payload.numberOf(message.data()));
            core.ackUpTo(consumer, offset);
        }
    }

    private int files() {
        return Directories.segments(directory).size();
    }

    /** Runs gc, checks its result against the directory, and returns the number of deleted files. */
    private int gc() {
        int before = files();
        long deleted = core.writer().gc();
        assertEquals((before - files()) * (long) SEGMENT, deleted);
        return before - files();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void unackedSegmentsAreNotDeleted(int version) {
        open(version);
        assertEquals(0, gc());
        push(80);
        assertEquals(0, gc());
        popAndAck(0, 80);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void segmentsAckedByEveryConsumerAreDeleted(int version) {
        open(version);
        push(80);
        int before = files();
        popAndAck(0, 60);
        int deleted = gc();
        assertTrue(deleted >= before / 2 && deleted < before, deleted + " of " + before);
        assertEquals(0, gc());
        popAndAck(60, 20);
        gc();
        assertTrue(files() <= 1, files() + " files are left");
        assertEquals(0, gc());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theRingWrapsWithNewFiles(int version) {
        open(version);
        long next = 0;
        for (int round = 0; round < 30; round++) {
            int count = 15 + round * 7 % 50;
            push(count);
            int acked = round % 3 == 0 ? count / 2 : count;
            popAndAck(next, acked);
            gc();
            popAndAck(next + acked, count - acked);
            next += count;
            if (round % 5 == 4) {
                gc();
            }
        }
        assertEquals(next, core.endOffset());
    }

    @Test
    void aSlowConsumerRetainsItsFiles() {
        open(2);
        ConsumerCore slow = core.consumer("slow", StartAt.EARLIEST);
        push(80);
        popAndAck(0, 80);
        assertEquals(0, gc());
        for (int i = 0; i < 80; i++) {
            assertEquals(i, Payload.numberOf(core.poll(slow).data()));
        }
        core.ackUpTo(slow, 79);
        assertTrue(gc() > 5);
    }

    @Test
    void offsetsContinueAfterACleanReopening() {
        open(2);
        push(80);
        popAndAck(0, 80);
        gc();
        core.close();
        open(2);
        assertEquals(80, core.endOffset());
        push(40);
        popAndAck(80, 40);
    }

    /** The file of a free slot is refilled before use, so its length must not stop the writer. */
    @ParameterizedTest
    @ValueSource(ints = {-SEGMENT, -8, 8, SEGMENT})
    void aFreeSlotsFileOfAnotherLengthIsReplaced(int more) throws IOException {
        open(2);
        push(80);
        popAndAck(0, 80);
        gc();
        long next = (core.stats().writingPosition() - 1) / SEGMENT + 1;
        core.close();
        Files.write(directory.resolve(next % 16 + "_segment.dat"), new byte[SEGMENT + more]);
        open(2);
        push(40);
        popAndAck(80, 40);
        assertEquals(SEGMENT, Files.size(directory.resolve(next % 16 + "_segment.dat")));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 30, 79, 80})
    void offsetsContinueAfterAKill(int acked) {
        open(2);
        push(80);
        popAndAck(0, acked);
        gc();
        Path copy = Directories.copy(directory, temp.resolve("copy"));
        core.close();
        directory = copy;
        open(2);
        assertEquals(80, core.endOffset());
        popAndAck(acked, 80 - acked);
        push(40);
        popAndAck(80, 40);
        gc();
    }

    /** A flush must not need the deleted files. */
    @Test
    void aFlushAfterGcSucceeds() {
        open(2);
        push(80);
        popAndAck(0, 70);
        gc();
        core.writer().flush();
        assertEquals(core.stats().writingPosition(), core.stats().watermarkPosition());
        push(20);
        core.writer().flush();
        popAndAck(70, 30);
        gc();
        core.writer().flush();
    }

    @Test
    void anIdleQueueRunsGc() {
        try (MmapQueue queue =
                MmapQueue.open(config(2).gcOnIdle(Duration.ofMillis(10)).build())) {
            for (int round = 0; round < 2; round++) {
                long first = queue.endOffset();
                for (int i = 0; i < 120; i++) {
                    queue.push(Payload.numbered(first + i, 300));
                }
                List<Message> all = Payload.drain(queue);
                assertEquals(120, all.size());
                queue.consumer().ackUpTo(first + 119);
                // The last segment and the preallocated ones.
                Waiting.until("the files are deleted", () -> files() <= 4);
            }
        }
    }
}
