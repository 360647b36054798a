package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;

/** Ranges of offsets, and their bounds in any generation of the ring. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomAccessRangeTest extends RandomAccessFixture {
    @Test
    void rangesAreReadInOrderFromAnyRecord() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            queue.pushMixed(200, 2);
            for (int from = 0; from < queue.log.size(); from += 7) {
                queue.assertRange(from, 1000, Long.MAX_VALUE);
                queue.assertRange(from, 5, Long.MAX_VALUE);
                queue.assertRange(from, 1000, 700);
                queue.assertRange(from, 1000, 1);
            }
            List<Message> seen = new ArrayList<>();
            MessageHandler handler = (offset, timestamp, buffer, start, length, attempts) -> seen.add(
                    new Message(offset, timestamp, Arrays.copyOfRange(buffer, start, start + length), attempts));
            int count = queue.randomAccess().get(50, 40, Long.MAX_VALUE, handler);
            assertEquals(40, count);
            for (int i = 0; i < 40; i++) {
                queue.assertMessage(50 + i, seen.get(i));
            }
        }
    }

    @Test
    void anEmptyQueueHasNoRange() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 10, true)) {
            assertEquals(0, queue.randomAccess().firstOffset());
            assertEquals(0, queue.randomAccess().endOffset());
            queue.assertOutOfRange(0, 0);
            queue.assertOutOfRange(1, 0);
            queue.assertFind(0);
            queue.assertFind(Long.MAX_VALUE);
            queue.assertPosition(0);
            assertEquals(0, queue.randomAccess().offsetAt(0));
            queue.push(10);
            queue.assertAll();
            queue.ackBefore(1);
            queue.assertAll();
            assertEquals(1, queue.randomAccess().firstOffset());
            assertEquals(
                    "a record that is not retained any more, or not pushed yet: offset 0 is out of range;"
                            + " available: none",
                    assertThrows(
                                    MmapQueueException.class,
                                    () -> queue.randomAccess().get(0, 1, Long.MAX_VALUE))
                            .getMessage());
        }
    }

    @Test
    void badArgumentsThrow() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 10, false)) {
            queue.push(5);
            RandomAccessReader randomAccess = queue.randomAccess();
            assertThrows(IllegalArgumentException.class, () -> randomAccess.get(0, 0, 1));
            assertThrows(IllegalArgumentException.class, () -> randomAccess.get(0, -1, 1));
            assertThrows(IllegalArgumentException.class, () -> randomAccess.get(0, 1, 0));
            assertEquals(
                    "timestamps",
                    assertThrows(ConfigException.class, () -> randomAccess.find(1))
                            .key());
            assertThrows(ConfigException.class, () -> randomAccess.locateTime(1));
            assertThrows(MmapQueueException.class, () -> randomAccess.offsetAt(queue.end() + 8));
            assertThrows(MmapQueueException.class, () -> randomAccess.offsetAt(-8));
            assertThrows(CorruptException.class, () -> randomAccess.offsetAt(queue.end() - 8));
        }
    }

    @Test
    void aThrowingHandlerLeavesNothingPinned() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 10, true)) {
            queue.pushMixed(12, 3);
            IllegalStateException thrown = new IllegalStateException();
            CorruptException other = new CorruptException("another queue's file", 0, "damage");
            for (RuntimeException each : List.of(thrown, other)) {
                int[] calls = new int[1];
                assertEquals(
                        each,
                        assertThrows(
                                RuntimeException.class,
                                () -> queue.randomAccess()
                                        .get(
                                                2,
                                                5,
                                                Long.MAX_VALUE,
                                                (offset, timestamp, buffer, start, length, attempts) -> {
                                                    calls[0]++;
                                                    throw each;
                                                })));
                assertEquals(1, calls[0]);
                queue.assertRecord(2);
            }
            assertEquals(
                    5,
                    queue.randomAccess()
                            .get(
                                    2,
                                    5,
                                    Long.MAX_VALUE,
                                    (offset, timestamp, buffer, start, length, attempts) ->
                                            queue.assertRecord((int) offset)));
        }
    }

    @Test
    void theLogMayGrowBetweenCalls() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            SplittableRandom random = new SplittableRandom(4);
            for (int i = 0; i < 300; i++) {
                queue.push(i % 23 == 0 ? 5000 : random.nextInt(300));
                queue.assertRecord(i);
                queue.assertRecord(random.nextInt(i + 1));
                queue.assertOutOfRange(i + 1L, 0);
                assertEquals(i + 1, queue.randomAccess().endOffset());
            }
        }
    }

    @Test
    void ackedRecordsAreOutOfRangeInEveryGeneration() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 8, true)) {
            SplittableRandom random = new SplittableRandom(5);
            while (queue.end() < 5 * 8 * SEGMENT) {
                queue.push(random.nextInt(100) < 5 ? 4000 + random.nextInt(6000) : random.nextInt(500));
                int first = queue.acked();
                if (queue.end() - queue.reclaimed() > 3 * SEGMENT) {
                    queue.ackBefore(first + 1 + random.nextInt(queue.log.size() - first));
                }
                first = queue.acked();
                assertEquals(first, queue.randomAccess().firstOffset());
                queue.assertOutOfRange(first - 1L, first);
                queue.assertOutOfRange(queue.log.size(), first);
                if (first < queue.log.size()) {
                    queue.assertRecord(first);
                    queue.assertRecord(queue.log.size() - 1);
                    queue.assertRange(first, 1000, Long.MAX_VALUE);
                }
            }
            queue.assertAll();
        }
    }

    /** A record that begins before the log start is out of range, also if it ends after it. */
    @Test
    void theLogStartMayBeAnySegmentsBeginning() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            queue.pushMixed(150, 6);
            int inside = 0;
            for (long head = 0; head <= queue.end(); head += SEGMENT) {
                queue.head = head;
                assertEquals(queue.first(), queue.randomAccess().firstOffset(), "head " + head);
                queue.assertOutOfRange(queue.first() - 1L, queue.first());
                queue.assertFind(0);
                if (queue.first() < queue.log.size()) {
                    queue.assertRecord(queue.first());
                }
                inside += queue.begins.contains(head) ? 0 : 1;
            }
            assertTrue(inside > 5, "heads within a record: " + inside);
            for (int i = 0; i < queue.log.size(); i++) {
                queue.head = queue.begins.get(i);
                assertEquals(i, queue.randomAccess().firstOffset());
                queue.assertRecord(i);
                queue.assertOutOfRange(i - 1L, i);
            }
        }
    }
}
