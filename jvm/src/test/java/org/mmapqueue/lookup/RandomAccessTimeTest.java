package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;

/** Search by timestamp. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomAccessTimeTest {
    private static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private static void awaitNextMillisecond() {
        for (long now = System.currentTimeMillis(); System.currentTimeMillis() == now; ) {
            Thread.onSpinWait();
        }
    }

    private static void assertEveryTime(RandomReadQueue queue) {
        queue.assertFind(Long.MIN_VALUE);
        queue.assertFind(0);
        queue.assertFind(1);
        queue.assertFind(Long.MAX_VALUE);
        for (Message each : queue.log) {
            long time = each.timestampMicros();
            queue.assertFind(time - 1);
            queue.assertFind(time);
            queue.assertFind(time + 1);
        }
    }

    @Test
    void recordsAreFoundByTheirTime() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 120, true)) {
            for (int i = 0; i < 25; i++) {
                queue.pushMixed(1 + i % 11, 30 + i);
                awaitNextMillisecond();
            }
            assertTrue(queue.log.stream()
                            .mapToLong(Message::timestampMicros)
                            .distinct()
                            .count()
                    >= 25);
            assertEveryTime(queue);
            for (int head = 0; head < queue.log.size(); head += 5) {
                queue.head = queue.begins.get(head);
                queue.assertFind(queue.log.get(head).timestampMicros());
                queue.assertFind(queue.log.get(head / 2).timestampMicros());
                queue.assertFind(queue.log.get(queue.log.size() - 1).timestampMicros());
            }
        }
    }

    /** If a header is at the end of a segment, its timestamp is in the next one. */
    @Test
    void aTimestampInTheSegmentAfterItsHeaderIsFound() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            int cut = 0;
            while (queue.end() < 12 * SEGMENT) {
                int left = (int) (SEGMENT - queue.end() % SEGMENT);
                awaitNextMillisecond();
                if (left == 8) {
                    cut++;
                    queue.push(100);
                    awaitNextMillisecond();
                }
                queue.push(left > 24 && left < 1000 ? left - 24 : 900);
            }
            assertTrue(cut > 5, "cut " + cut);
            assertEveryTime(queue);
        }
    }

    @Test
    void recordsWithoutATimestampHaveThatOfTheRecordBefore() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, false)) {
            for (int i = 0; i < 8; i++) {
                queue.pushMixed(15, 50 + i);
                awaitNextMillisecond();
                queue.reopen(i % 2 == 0);
            }
            queue.reopen(true);
            assertTrue(queue.log.stream().anyMatch(each -> each.timestampMicros() == 0));
            assertTrue(queue.log.stream().anyMatch(each -> each.timestampMicros() != 0));
            assertEveryTime(queue);
            queue.assertAll();
            for (int head = 0; head < queue.log.size(); head += 3) {
                queue.head = queue.begins.get(head);
                queue.assertFind(0);
                queue.assertFind(queue.log.get(20).timestampMicros());
            }
        }
    }

    @Test
    void timesAreFoundAfterTheSealsOfRecoveries() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            for (int kill = 0; kill < 5; kill++) {
                queue.pushMixed(12, 70 + kill);
                awaitNextMillisecond();
                queue.abandon();
                assertEveryTime(queue);
            }
            queue.push(20);
            assertEveryTime(queue);
            assertEquals(OptionalLong.of(0), queue.randomAccess().find(0));
        }
    }

    /** A segment's header may have a timestamp that only its own records have. */
    @Test
    void aSegmentMayBeginWithALaterTimeThanTheRecordBefore() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 60, true)) {
            while (queue.end() < 6 * SEGMENT || queue.end() % SEGMENT != 0) {
                queue.push(496 - 8);
                if (queue.end() % SEGMENT == 0) {
                    awaitNextMillisecond();
                }
            }
            for (int segment = 1; segment < 6; segment++) {
                int first = 8 * segment;
                assertEquals((long) segment * SEGMENT, queue.begins.get(first));
                long begin = queue.log.get(first).timestampMicros();
                assertTrue(begin > queue.log.get(first - 1).timestampMicros());
                Path file = queue.directory().resolve(segment + "_segment.dat");
                long base = Directories.word(file, 40);
                assertTrue(base > queue.log.get(first - 1).timestampMicros() && base <= begin);
            }
            assertEveryTime(queue);
        }
    }
}
