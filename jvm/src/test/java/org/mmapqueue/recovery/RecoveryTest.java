package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** The log end after a kill or a loss of power. */
@Timeout(120)
class RecoveryTest extends KilledQueues {
    private static final int META_WATERMARK = 576;
    private static final int COMMITTED = 128;
    private static final int READING = 192;

    /** A kill between the store of a record's header and that of the writing position. */
    @Test
    void aRecordThatIsPublishedButNotInTheWritingPositionIsKept() {
        Path left = left(1, lengths(4, 200));
        Directories.putWord(left.resolve("meta.dat"), META_WRITING, 64 + 3 * 208);
        try (MmapQueue queue = open(left)) {
            Payload.assertMessages(0, payloads(0, lengths(4, 200)), Payload.drain(queue));
        }
    }

    /** The same, and a consumer in another thread has popped and acked the record by then. */
    @Test
    void aKillBetweenPublishAndTheWritingPosition() {
        Path left = left(1, lengths(4, 200));
        long end = Directories.word(left.resolve("meta.dat"), META_WRITING);
        Directories.putWord(left.resolve("meta.dat"), META_WRITING, 64 + 3 * 208);
        Directories.putWord(left.resolve("consumers/default.dat"), READING, end);
        Path read = Directories.copy(left, temp.resolve("read"));
        try (MmapQueue queue = open(read)) {
            Payload.assertMessages(0, payloads(0, lengths(4, 200)), Payload.drain(queue));
        }
        Directories.putWord(left.resolve("consumers/default.dat"), COMMITTED, end);
        try (MmapQueue queue = open(left)) {
            assertNull(queue.consumer().poll());
            assertEquals(4, queue.endOffset());
            assertEquals(4, queue.push(Payload.of(9, 9)));
        }
    }

    @Test
    void acksOfRecordsThatDidNotSurviveAreForgotten() {
        for (int survivors : new int[] {3, 6}) {
            Path directory = temp.resolve("queue-" + survivors);
            MmapQueue queue = open(directory);
            for (int i = 0; i < 40; i++) {
                if (i == 3) {
                    queue.flush();
                }
                queue.push(Payload.of(i, 200));
            }
            Payload.drain(queue);
            queue.consumer().ackUpTo(8);
            Path left = kill(queue, directory);
            Directories.flip(left.resolve("0_segment.dat"), 64 + survivors * 216 + 50, 1);
            try (MmapQueue again = open(left)) {
                // Either the acked records count, and none is left, or the log continues after the last whole one.
                long end = again.endOffset();
                assertTrue(end == survivors || end == 40, "end " + end);
                assertEquals(end - Payload.drain(again).size(), again.consumer().committedOffset());
                assertEquals(end, again.push(Payload.of(7, 7)));
                Payload.assertMessages(end, List.of(Payload.of(7, 7)), Payload.drain(again));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 6})
    void aCursorBehindTheEndIsPutBackToIt(int survivors) {
        Path left = left(3, lengths(12, 200));
        Directories.putWord(left.resolve("consumers/default.dat"), READING, 64 + 9 * 216);
        Directories.putWord(left.resolve("consumers/default.dat"), COMMITTED, 64 + 9 * 216);
        // Neither the record in question nor the walk from the cursor can be had.
        Directories.overwrite(left.resolve("0_segment.dat"), 64 + survivors * 216, new byte[8]);
        try (MmapQueue queue = open(left)) {
            assertEquals(survivors, queue.endOffset());
            assertEquals(survivors, queue.consumer().committedOffset());
            assertEquals(0, queue.consumer().lag());
            assertEquals(survivors, queue.push(Payload.of(1, 1)));
            Payload.assertMessages(survivors, List.of(Payload.of(1, 1)), Payload.drain(queue));
        }
    }

    @Test
    void aSegmentOfALowerEpochIsNotPartOfTheLog() throws Exception {
        // Epoch 1 wrote segments 0 to 2 and more; a recovery cut it in segment 0; epoch 2 wrote segment 1 and was
        // killed: segment 2 of epoch 1 exists, whole, with the right id. Each segment takes eight records to its last
        // byte, so that each begins with a whole one.
        Path left = left(3, lengths(30, 488));
        byte[] stranded = Directories.read(left.resolve("2_segment.dat"));
        Directories.overwrite(left.resolve("0_segment.dat"), 64 + 6 * 504 + 16 + 100, (byte) 0);
        MmapQueue queue = open(left);
        List<byte[]> expected = new ArrayList<>(payloads(0, lengths(6, 488)));
        for (int i = 0; i < 8; i++) {
            expected.add(Payload.of(100 + i, 488));
        }
        queue.pushBatch(expected.subList(6, 14));
        assertEquals(2 * SEGMENT, queue.stats().writingPosition());
        left = kill(queue, left);
        // The recovery has deleted the slot's file: the file as it was in epoch 1.
        Files.write(left.resolve("2_segment.dat"), stranded);
        try (MmapQueue again = open(left)) {
            Payload.assertMessages(0, expected, Payload.drain(again));
            assertEquals(14, again.push(Payload.of(7, 3000)));
            Payload.assertMessages(14, List.of(Payload.of(7, 3000)), Payload.drain(again));
        }
    }

    @Test
    void everyCleanCloseKeepsTheEpochAndEveryKillRaisesIt() {
        Path directory = temp.resolve("queue");
        for (int i = 0; i < 3; i++) {
            try (MmapQueue queue = open(directory)) {
                assertEquals(1, queue.stats().epoch());
                queue.push(Payload.of(i, 100));
            }
        }
        Path left = directory;
        for (int i = 0; i < 3; i++) {
            MmapQueue queue = open(left);
            assertEquals(1 + i, queue.stats().epoch());
            queue.push(Payload.of(3 + i, 100));
            left = kill(queue, left);
        }
        try (MmapQueue queue = open(left)) {
            Payload.assertMessages(0, payloads(0, lengths(6, 100)), Payload.drain(queue));
        }
    }

    /** The clock may be set back while the queue is closed: the log's own newest time holds. */
    @Test
    void timestampsDoNotDecreaseOverAnOpen() {
        Path directory = temp.resolve("stamped");
        QueueConfig config = QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .build();
        UUID queueId;
        try (MmapQueue queue = MmapQueue.open(config)) {
            queue.push(new byte[10]);
            queueId = queue.id();
        }
        long future = System.currentTimeMillis() * 1000 + 3_600_000_000L;
        Path segment = directory.resolve("0_segment.dat");
        Directories.putWord(segment, 40, future);
        CRC32C crc = new CRC32C();
        crc.update(Directories.read(segment), 0, 60);
        Directories.putWord(segment, 56, crc.getValue() << 32 | Directories.word(segment, 56) & 0xFFFF_FFFFL);
        CRC32C payload = new CRC32C();
        payload.update(new byte[10]);
        int flags = (int) Directories.word(segment, 64);
        int checksum = new RecordChecksum(queueId).finish(payload, 0, future, flags);
        Directories.putWord(segment, 64, RecordDescriptor.header(flags, checksum));
        Directories.putWord(segment, 72, RecordDescriptor.second(0, future));
        try (MmapQueue queue = MmapQueue.open(config)) {
            queue.push(new byte[10]);
            queue.consumer().pop();
            assertEquals(future, queue.consumer().pop().timestampMicros());
        }
    }

    @Test
    void aNewQueueThatWasKilledBeforeTheFirstPush() {
        Path left = left(-1);
        for (int i = 0; i < 3; i++) {
            MmapQueue queue = open(left);
            assertEquals(0, queue.endOffset());
            assertNull(queue.consumer().poll());
            left = kill(queue, left);
        }
        try (MmapQueue queue = open(left)) {
            assertEquals(0, queue.push(new byte[1]));
        }
    }

    @Test
    void aLogThatEndsExactlyAtASegmentsEnd() throws InterruptedException {
        // 4032 bytes for records: eight of 504.
        Path left = left(2, lengths(8, 496));
        MmapQueue queue = open(left);
        assertEquals(8, queue.endOffset());
        assertEquals(8, queue.push(Payload.of(8, 496)));
        left = kill(queue, left);
        try (MmapQueue again = open(left)) {
            Payload.assertMessages(
                    0, payloads(0, lengths(9, 496)), again.consumer().popBatch(100, Long.MAX_VALUE, Duration.ZERO));
        }
    }

    @Test
    void namedConsumersAreWhereTheyWere() {
        Path directory = temp.resolve("queue");
        MmapQueue queue = open(directory);
        queue.createConsumer("default", StartAt.EARLIEST);
        Consumer named = queue.consumer("named", StartAt.EARLIEST);
        Payload.pushAll(queue, payloads(0, lengths(30, 200)));
        Payload.drain(named);
        named.ackUpTo(19);
        Payload.drain(queue);
        queue.consumer().ackUpTo(4);
        Path left = kill(queue, directory);
        try (MmapQueue again = open(left)) {
            assertEquals(20, again.consumer("named", StartAt.LATEST).readOffset());
            assertEquals(
                    10, Payload.drain(again.consumer("named", StartAt.LATEST)).size());
            assertEquals(5, again.consumer().readOffset());
            assertEquals(25, Payload.drain(again).size());
        }
    }

    @Test
    void theWatermarkIsTakenForTrueOnlyWhenItIsBelowTheEnd() {
        Path left = left(5, lengths(12, 200));
        assertEquals(64 + 5 * 216, Directories.word(left.resolve("meta.dat"), META_WATERMARK));
        try (MmapQueue queue = open(left)) {
            assertEquals(queue.stats().writingPosition(), queue.stats().watermarkPosition());
            assertEquals(12, Payload.drain(queue).size());
        }
    }
}
