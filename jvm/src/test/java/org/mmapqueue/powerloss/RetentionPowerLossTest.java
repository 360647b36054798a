package org.mmapqueue.powerloss;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/** After a loss of power retained records are whole, and saved acks of lost records are void. */
@Timeout(60)
class RetentionPowerLossTest {
    private static final int SEGMENT = 4096;
    private static final int CAPACITY = 8;
    private static final long ALL = 1 << 20;
    /** Four records of this fill a segment: its header has 64 bytes, a record's and its timestamp 16. */
    private static final int QUARTER = (SEGMENT - 64) / 4 - 16;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    private PowerLossStorage storage;
    private StorageQueue queue;

    private void open(long retainBytes) {
        if (directory == null) {
            directory = temp.resolve("queue");
            storage = new PowerLossStorage();
        }
        queue = StorageQueue.open(
                QueueConfig.builder(directory)
                        .segmentSize(SEGMENT)
                        .queueCapacitySegments(CAPACITY)
                        .maxInMemSegments(6)
                        .maxEventSize(SEGMENT)
                        .flushPeriod(Duration.ofMinutes(10))
                        .retainBytes(retainBytes)
                        .build(),
                storage);
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            long offset = queue.endOffset();
            assertEquals(offset, queue.push(Payload.numbered(offset, QUARTER)));
        }
    }

    private void popAndAck(long first, int count) {
        for (long offset = first; offset < first + count; offset++) {
            assertEquals(offset, queue.poll("default").offset());
            queue.ackUpTo("default", offset);
        }
    }

    private void pushAndAck(int count) {
        for (int i = 0; i < count; i++) {
            push(1);
            popAndAck(queue.endOffset() - 1, 1);
        }
    }

    /** The power fails; of unsynced data, only these bytes of these files survive. */
    private void lose(int from, int to, String... files) throws IOException {
        Path left = storage.lose(directory, temp.resolve("left"), new SplittableRandom(1), 0);
        for (String file : files) {
            byte[] now = Directories.read(directory.resolve(file));
            Path target = left.resolve(file);
            byte[] then =
                    Files.exists(target) ? Arrays.copyOf(Directories.read(target), now.length) : new byte[now.length];
            System.arraycopy(now, from, then, from, Math.min(to, now.length) - from);
            Files.write(target, then);
        }
        queue.close();
        directory = left;
        storage = new PowerLossStorage();
        storage.adopt(left);
    }

    private void assertRetained(long least) {
        long first = queue.firstOffset();
        long end = queue.endOffset();
        assertTrue(end - first >= least, "retained are " + first + " to " + end);
        for (long offset = first; offset < end; offset++) {
            assertArrayEquals(
                    Payload.numbered(offset, QUARTER), queue.get(offset).data());
        }
        queue.createConsumer("late", StartAt.EARLIEST);
        for (long offset = first; offset < end; offset++) {
            assertEquals(offset, queue.poll("late").offset());
        }
        assertNull(queue.poll("late"));
        push(2);
        assertEquals(end, queue.poll("late").offset());
    }

    /** The kernel writes the acks back, but not all of the acked records. */
    @Test
    void ackedRecordsThatWereNeverSynced() throws IOException {
        open(ALL);
        pushAndAck(8);
        queue.flush();
        pushAndAck(12);
        lose(0, SEGMENT, "consumers/default.dat", "2_segment.dat", "4_segment.dat");
        open(ALL);
        assertEquals(20, queue.endOffset());
        assertRetained(0);
    }

    /** The same, and the segment of the consumer is torn before its position. */
    @Test
    void aTornSegmentBeforeTheLowWatermark() throws IOException {
        open(ALL);
        pushAndAck(8);
        queue.flush();
        pushAndAck(10);
        push(1);
        lose(0, SEGMENT, "consumers/default.dat", "2_segment.dat");
        Path torn = directory.resolve("4_segment.dat");
        byte[] bytes = Directories.read(temp.resolve("queue").resolve("4_segment.dat"));
        Arrays.fill(bytes, 512, 1024, (byte) 0); // in the payload of record 16
        Files.write(torn, bytes);
        Files.copy(
                temp.resolve("queue").resolve("3_segment.dat"),
                directory.resolve("3_segment.dat"),
                StandardCopyOption.REPLACE_EXISTING);
        open(ALL);
        assertRetained(0);
    }

    /** The cursors on the disk are older than a segment that was reused. */
    @Test
    void anOverwrittenSegment() throws IOException {
        open(ALL);
        pushAndAck(4);
        queue.housekeeperStep(); // notices the opened consumer, and need not flush for it later
        pushAndAck(24);
        queue.flush();
        pushAndAck(8);
        assertEquals(9L * SEGMENT, queue.stats().writingPosition());
        lose(SEGMENT / 2, SEGMENT, "0_segment.dat");
        open(ALL);
        assertEquals(28, queue.endOffset());
        assertRetained(20);
    }

    /** A flush without retention leaves out records that all consumers have acked. */
    @Test
    void recordsThatAWriterWithoutRetentionHasNotSynced() throws IOException {
        open(0);
        push(4);
        queue.flush();
        push(14);
        popAndAck(0, 18);
        queue.close();
        lose(0, 0);
        open(ALL);
        assertEquals(18, queue.endOffset());
        assertRetained(0);
    }

    @Test
    void retainedRecordsSurviveAKillAndThenALossOfPower() throws IOException {
        open(ALL);
        pushAndAck(8);
        queue.flush();
        pushAndAck(11);
        Path killed = Directories.copy(directory, temp.resolve("killed"));
        PowerLossStorage after = storage.killed(directory, killed);
        queue.close();
        directory = killed;
        storage = after;
        open(ALL);
        assertEquals(0, queue.firstOffset());
        lose(0, 0);
        open(ALL);
        assertEquals(19, queue.endOffset());
        assertRetained(19);
    }

    /** Saved acks of lost records do not apply to new records with the same offsets. */
    @Test
    void savedAcksOfLostRecordsAreVoid() throws IOException {
        open(0);
        push(1);
        queue.flush();
        push(4);
        for (int i = 0; i < 5; i++) {
            queue.poll("default");
        }
        queue.ack("default", 2);
        queue.ack("default", 3);
        queue.closeConsumer("default");
        lose(0, 0);
        assertTrue(Files.exists(directory.resolve("consumers/default.inflight")));
        open(0);
        assertEquals(1, queue.endOffset());
        push(4);
        for (int i = 0; i < 5; i++) {
            Message message = queue.poll("default");
            assertEquals(i, message.offset());
            assertEquals(i == 0 ? 2 : 1, message.attempts()); // the first one has survived
        }
    }

    /** After the flush, what came later is lost, and nothing before it. */
    @Test
    void aFlushKeepsAcksAttemptsAndDelays() throws IOException {
        open(0);
        push(6);
        for (int i = 0; i < 6; i++) {
            queue.poll("default");
        }
        queue.nack("default", 1);
        assertEquals(2, queue.poll("default").attempts());
        queue.ack("default", 3);
        queue.nack("default", 4, Duration.ofHours(1).toNanos());
        queue.flush();
        push(1);
        queue.poll("default");
        queue.ack("default", 5);
        queue.ack("default", 6);
        lose(0, 0);
        open(0);
        assertEquals(6, queue.endOffset());
        push(1);
        long[][] expected = {{0, 2}, {1, 3}, {2, 2}, {5, 2}, {6, 1}};
        for (long[] each : expected) {
            Message message = queue.poll("default");
            assertEquals(each[0], message.offset());
            assertEquals(each[1], message.attempts());
        }
        assertNull(queue.poll("default"));
    }
}
