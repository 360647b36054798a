package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.tool.Finding;
import org.mmapqueue.tool.Progress;
import org.mmapqueue.tool.RepairReport;
import org.mmapqueue.tool.Repairer;

/** A queue that was repaired: what is left has its offset, what was lost is passed. */
class RepairedQueueTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @ParameterizedTest
    @EnumSource
    void whatIsLeftKeepsItsOffset(Shape shape) throws Exception {
        Shape.Made made = shape.make(temp.resolve("queue"), temp.resolve("aside"));
        Random random = new Random(shape.ordinal());
        int checked = 0;
        for (Path segment : Directories.segments(made.path())) {
            for (int round = -1; round < 20; round++) {
                Path damaged = Directories.copy(made.path(), temp.resolve("damaged"));
                Path file = damaged.resolve(segment.getFileName());
                if (round < 0) {
                    Files.delete(file);
                } else {
                    byte[] noise = new byte[1 + random.nextInt(200)];
                    random.nextBytes(noise);
                    Directories.overwrite(file, random.nextInt(Shape.SEGMENT - noise.length), noise);
                }
                RepairReport report = Repairer.repair(damaged, temp.resolve("repaired"), Progress.NONE);
                if (report.lost().stream().allMatch(Finding::exact)) {
                    check(made, report, temp.resolve("repaired"));
                    checked++;
                }
                Directories.delete(damaged);
                Directories.delete(temp.resolve("repaired"));
            }
        }
        assertTrue(checked > 20, "checked " + checked);
    }

    private static void check(Shape.Made made, RepairReport report, Path at) throws InterruptedException {
        Set<Long> lost = new HashSet<>();
        for (Finding each : report.lost()) {
            for (long offset = each.firstLost(); offset <= each.lastLost(); offset++) {
                lost.add(offset);
            }
        }
        for (int round = 0; round < 2; round++) {
            try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(at).build())) {
                long end = round == 0 ? report.before().endOffset() : queue.endOffset();
                assertEquals(end, queue.endOffset());
                for (long offset = queue.firstOffset(); offset < report.before().endOffset(); offset++) {
                    long wanted = offset;
                    if (lost.contains(offset)) {
                        assertThrows(OutOfRangeException.class, () -> queue.get(wanted));
                    } else {
                        assertArrayEquals(made.payloads().get((int) offset), queue.get(offset).data());
                    }
                }
                for (String name : queue.consumers()) {
                    drain(made, queue, queue.consumer(name, StartAt.EARLIEST), lost, report.before().endOffset());
                }
                assertEquals(end, queue.push(new byte[] {7}));
                assertArrayEquals(new byte[] {7}, queue.get(end).data());
            }
        }
    }

    private static void drain(Shape.Made made, MmapQueue queue, Consumer consumer, Set<Long> lost, long damagedEnd) {
        long expected = consumer.readOffset();
        for (Message each = consumer.poll(); each != null; each = consumer.poll()) {
            while (lost.contains(expected)) {
                expected++;
            }
            // What was acked out of order before is not popped again.
            assertTrue(each.offset() >= expected, each.offset() + " and " + expected);
            if (each.offset() < damagedEnd) {
                assertArrayEquals(made.payloads().get((int) each.offset()), each.data());
            }
            consumer.ack(each.offset());
            expected = each.offset() + 1;
        }
        assertEquals(queue.endOffset(), consumer.readOffset());
    }
}
