package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** Records that a crash has stored in part: the log ends before the first of them. */
@Timeout(120)
class TornRecordTest extends KilledQueues {
    @Test
    void theLogEndsAtATornRecordAndWhatIsBehindItNeverComesBack() throws InterruptedException {
        // Records of 8 + 200 bytes after a header of 64; the flush covers three.
        Path left = left(3, lengths(12, 200));
        Directories.overwrite(left.resolve("0_segment.dat"), 64 + 6 * 208 + 8 + 100, (byte) 0);
        List<byte[]> expected = new ArrayList<>(payloads(0, lengths(6, 200)));
        for (int crash = 0; crash < 4; crash++) {
            MmapQueue queue = open(left);
            assertEquals(6 + crash, queue.endOffset());
            assertEquals(2 + crash, queue.stats().epoch());
            byte[] next = Payload.of(1000 + crash, 150);
            assertEquals(6 + crash, queue.push(next));
            expected.add(next);
            Payload.assertMessages(0, expected, Payload.drain(queue));
            left = kill(queue, left);
        }
        try (MmapQueue queue = open(left)) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
    }

    @Test
    void aTornRecordWithNoLaterPushStaysTheEnd() {
        Path left = left(3, lengths(12, 200));
        Directories.overwrite(left.resolve("0_segment.dat"), 64 + 6 * 208 + 8 + 100, (byte) 0);
        for (int crash = 0; crash < 4; crash++) {
            MmapQueue queue = open(left);
            Payload.assertMessages(0, payloads(0, lengths(6, 200)), Payload.drain(queue));
            left = kill(queue, left);
        }
    }

    @Test
    void segmentsBehindATornRecordNeverComeBack() {
        // Whole segments follow the one with the torn record, each beginning with a whole record.
        Path left = left(3, lengths(40, 496));
        Directories.overwrite(left.resolve("0_segment.dat"), 64 + 6 * 504 + 8 + 100, (byte) 0);
        List<byte[]> expected = new ArrayList<>(payloads(0, lengths(6, 496)));
        // Each crash closes a segment, so the new log passes over all of the stranded ones.
        for (int crash = 0; crash < 8; crash++) {
            MmapQueue queue = open(left);
            Payload.assertMessages(0, expected, Payload.drain(queue));
            expected.add(Payload.of(1000 + crash, 300));
            assertEquals(expected.size() - 1, queue.push(Payload.of(1000 + crash, 300)));
            left = kill(queue, left);
        }
        try (MmapQueue queue = open(left)) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
    }

    @Test
    void aTornRecordOverSegmentsEndsTheLog() {
        Path left = left(2, 200, 200, 9000, 200, 200);
        Directories.flip(left.resolve("1_segment.dat"), 2000, 4);
        MmapQueue queue = open(left);
        Payload.assertMessages(0, payloads(0, 200, 200), Payload.drain(queue));
        assertEquals(2, queue.push(Payload.of(70, 9000)));
        assertEquals(3, queue.push(Payload.of(71, 10)));
        left = kill(queue, left);
        try (MmapQueue again = open(left)) {
            Payload.assertMessages(
                    0,
                    List.of(Payload.of(0, 200), Payload.of(1, 200), Payload.of(70, 9000), Payload.of(71, 10)),
                    Payload.drain(again));
        }
    }

    @Test
    void aTornBatchIsGoneWhole() {
        Path directory = temp.resolve("queue");
        MmapQueue queue = open(directory);
        queue.push(Payload.of(0, 100));
        queue.pushBatch(payloads(0, lengths(5, 300)));
        Path left = kill(queue, directory);
        // The last record of the batch.
        Directories.flip(left.resolve("0_segment.dat"), 64 + 112 + 4 * 308 + 50, 1);
        try (MmapQueue again = open(left)) {
            Payload.assertMessages(0, List.of(Payload.of(0, 100)), Payload.drain(again));
            assertEquals(1, again.pushBatch(payloads(0, lengths(3, 300))));
            Payload.assertMessages(1, payloads(0, lengths(3, 300)), Payload.drain(again));
        }
    }

    @Test
    void aBatchWhoseFirstHeaderIsMissingIsNotThere() {
        // As a kill leaves it between the stores of the batch and of its first header.
        Path directory = temp.resolve("queue");
        MmapQueue queue = open(directory);
        queue.push(Payload.of(0, 100));
        queue.pushBatch(payloads(0, lengths(25, 300)));
        Path left = kill(queue, directory);
        int second = 64 + 16 + 104;
        Directories.putWord(left.resolve("0_segment.dat"), second, 0);
        Directories.putWord(left.resolve("meta.dat"), META_WRITING, second);
        try (MmapQueue again = open(left)) {
            Payload.assertMessages(0, List.of(Payload.of(0, 100)), Payload.drain(again));
            assertEquals(1, again.push(Payload.of(5, 5)));
            Payload.assertMessages(1, List.of(Payload.of(5, 5)), Payload.drain(again));
        }
    }

    @Test
    void theFirstRecordOfAQueueMayBeTheTornOne() {
        Path left = left(-1, 500, 500);
        Directories.flip(left.resolve("0_segment.dat"), 100, 1);
        try (MmapQueue queue = open(left)) {
            assertEquals(0, queue.endOffset());
            assertNull(queue.consumer().poll());
            assertEquals(0, queue.push(Payload.of(3, 30)));
            Payload.assertMessages(0, List.of(Payload.of(3, 30)), Payload.drain(queue));
        }
    }
}
