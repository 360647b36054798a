package org.mmapqueue.tool.repair;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.damage.Shape;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.harness.ReferenceReader;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.RepairReport;

/** Reading repaired queues: whole records have their offsets, consumers pass lost ones. */
@Tag("long-form")
@Tag("slow")
class RepairedQueueTest {
    /** Damages of each segment; damage.rounds in the system properties sets another number. */
    private static final int ROUNDS = Integer.getInteger("damage.rounds", 9);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @ParameterizedTest
    @EnumSource
    void wholeRecordsKeepTheirOffsets(Shape shape) throws Exception {
        Shape.Made made = shape.make(temp.resolve("queue"), temp.resolve("aside"));
        Random random = new Random(shape.ordinal());
        int checked = 0;
        for (Path segment : Directories.segments(made.path())) {
            for (int round = -1; round < ROUNDS; round++) {
                Path damaged = Directories.copy(made.path(), temp.resolve("damaged"));
                Path file = damaged.resolve(segment.getFileName());
                if (round < 0) {
                    Files.delete(file);
                } else {
                    byte[] noise = new byte[1 + random.nextInt(200)];
                    random.nextBytes(noise);
                    Directories.overwrite(file, random.nextInt(Shape.SEGMENT - noise.length), noise);
                }
                Optional<ReferenceReader.Found> before = ReferenceReader.readIntact(damaged);
                RepairReport report = Repairer.repair(damaged, temp.resolve("repaired"), false, Progress.NONE);
                before.ifPresent(found -> found.checkKept(
                        ReferenceReader.read(temp.resolve("repaired")).orElseThrow()));
                check(made, report, temp.resolve("repaired"));
                checked++;
                Directories.delete(damaged);
                Directories.delete(temp.resolve("repaired"));
            }
        }
        assertTrue(checked > ROUNDS, "checked " + checked);
    }

    @ParameterizedTest
    @EnumSource
    void severalHolesInOneSegmentAreRepaired(Shape shape) throws Exception {
        Shape.Made made = shape.make(temp.resolve("queue"), temp.resolve("aside"));
        Random random = new Random(shape.ordinal() + 100);
        for (Path segment : Directories.segments(made.path())) {
            for (int round = 0; round < ROUNDS / 3; round++) {
                Path damaged = Directories.copy(made.path(), temp.resolve("damaged"));
                for (int hole = 0; hole < 3; hole++) {
                    byte[] noise = new byte[100 + random.nextInt(400)];
                    random.nextBytes(noise);
                    Directories.overwrite(
                            damaged.resolve(segment.getFileName()),
                            64 + random.nextInt(Shape.SEGMENT - 64 - noise.length),
                            noise);
                }
                Optional<ReferenceReader.Found> before = ReferenceReader.readIntact(damaged);
                RepairReport report = Repairer.repair(damaged, temp.resolve("repaired"), false, Progress.NONE);
                before.ifPresent(found -> found.checkKept(
                        ReferenceReader.read(temp.resolve("repaired")).orElseThrow()));
                check(made, report, temp.resolve("repaired"));
                Directories.delete(damaged);
                Directories.delete(temp.resolve("repaired"));
            }
        }
    }

    /** One byte of each of two records: their headers are whole, and say how long they are. */
    @Test
    void aDamagedPayloadCostsOneRecord() throws Exception {
        Shape.Made made = Shape.CLEAN.make(temp.resolve("queue"), temp.resolve("aside"));
        Path file = made.path().resolve("0_segment.dat");
        List<Integer> positions = RecordPositions.of(file);
        Directories.flip(file, positions.get(3) + 20, 1);
        Directories.flip(file, positions.get(6) + 20, 1);
        RepairReport report = Repairer.repair(made.path(), temp.resolve("repaired"), false, Progress.NONE);
        assertEquals(
                List.of(3L, 6L), report.lost().stream().map(Finding::firstLost).toList());
        assertEquals(2, report.before().lost());
        check(made, report, temp.resolve("repaired"));
    }

    @Test
    void aWholeRecordBetweenTwoHolesKeepsItsOffset() throws Exception {
        Shape.Made made = Shape.CLEAN.make(temp.resolve("queue"), temp.resolve("aside"));
        Path file = made.path().resolve("0_segment.dat");
        List<Integer> positions = RecordPositions.of(file);
        Directories.overwrite(file, positions.get(2), new byte[positions.get(4) - positions.get(2)]);
        Directories.overwrite(file, positions.get(5), new byte[positions.get(7) - positions.get(5)]);
        RepairReport report = Repairer.repair(made.path(), temp.resolve("repaired"), false, Progress.NONE);
        assertEquals(2, report.lost().size());
        for (int i = 0; i < 2; i++) {
            Finding lost = report.lost().get(i);
            assertEquals(List.of(2 + 3L * i, 3 + 3L * i), List.of(lost.firstLost(), lost.lastLost()));
            assertTrue(lost.exact());
        }
        assertEquals(made.payloads().size() - 4, report.before().records());
        check(made, report, temp.resolve("repaired"));
    }

    /** The records after the hole have their offsets. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHoleInTheLastSegmentIsRepaired(boolean isClosed) throws Exception {
        Shape.Made made = (isClosed ? Shape.CLEAN : Shape.KILLED).make(temp.resolve("queue"), temp.resolve("aside"));
        long end = Directories.word(made.path().resolve("meta.dat"), isClosed ? 512 : 576);
        Path file = made.path().resolve((end - 1) / Shape.SEGMENT + "_segment.dat");
        List<Integer> positions = RecordPositions.of(file);
        Directories.overwrite(file, positions.get(0), new byte[positions.get(2) - positions.get(0)]);
        RepairReport report = Repairer.repair(made.path(), temp.resolve("repaired"), false, Progress.NONE);
        assertEquals(1, report.lost().size());
        assertTrue(report.lost().get(0).exact());
        assertEquals(2, report.lost().get(0).lost(), report.lost().toString());
        check(made, report, temp.resolve("repaired"));
    }

    @Test
    void aDamagedOnlyRecordWithoutMetaPageIsReported() throws Exception {
        Path at = temp.resolve("queue");
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(at, true))) {
            queue.createConsumer("named", StartAt.EARLIEST);
            queue.push(Payload.of(0, 100));
        }
        Directories.flip(at.resolve("0_segment.dat"), 100, 1);
        Directories.resize(at.resolve("meta.dat"), 80);
        for (String target : List.of("with", "without")) {
            RepairReport report = Repairer.repair(
                    Directories.copy(at, temp.resolve("of " + target)), temp.resolve(target), false, Progress.NONE);
            assertEquals(0, report.before().records());
            assertEquals(1, report.lost().size());
            Files.deleteIfExists(at.resolve("consumers/named.dat"));
        }
    }

    /** The first segment after a recovery is missing. Its last record continues in the next segment. */
    @Test
    void aMissingFirstSegmentOfAnEpochIsRepaired() throws Exception {
        Path open = temp.resolve("open");
        Path at = temp.resolve("queue");
        List<byte[]> payloads = new ArrayList<>();
        MmapQueue first = MmapQueue.open(Shape.Made.config(open, true));
        for (int i = 0; i < 25; i++) {
            if (i == 5) {
                Directories.copy(open, at);
                first.close();
                first = MmapQueue.open(Shape.Made.config(at, true));
            }
            payloads.add(Payload.of(i, 700 + i));
            first.push(payloads.get(i));
        }
        first.close();
        Files.delete(at.resolve("1_segment.dat"));
        RepairReport report = Repairer.repair(at, temp.resolve("repaired"), false, Progress.NONE);
        assertEquals(payloads.size(), report.before().endOffset());
        check(new Shape.Made(at, payloads, 0, Map.of()), report, temp.resolve("repaired"));
    }

    /** No open would cut the damaged record: a new one must not get its offset. How many records it was is unknown. */
    @Test
    void noRecordGetsTheOffsetOfADamagedLastOneWithoutMetaPage() throws Exception {
        Shape.Made made = Shape.CLEAN.make(temp.resolve("queue"), temp.resolve("aside"));
        long end = Directories.word(made.path().resolve("meta.dat"), 512);
        Path file = made.path().resolve((end - 1) / Shape.SEGMENT + "_segment.dat");
        Directories.flip(file, (int) (end % Shape.SEGMENT) - 9, 1);
        Directories.resize(made.path().resolve("meta.dat"), 80);
        RepairReport report = Repairer.repair(made.path(), temp.resolve("repaired"), false, Progress.NONE);
        Finding lost = report.lost().get(0);
        assertEquals(made.payloads().size() - 1, lost.firstLost());
        assertFalse(lost.exact());
        assertEquals(lost.lastLost() + 1, report.before().endOffset());
        check(made, report, temp.resolve("repaired"));
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
                        assertArrayEquals(
                                made.payloads().get((int) offset),
                                queue.get(offset).data());
                    }
                }
                for (String name : queue.consumers()) {
                    drain(
                            made,
                            queue,
                            queue.consumer(name, StartAt.EARLIEST),
                            lost,
                            report.before().endOffset());
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
            // Records that were acked out of order before are not redelivered.
            assertTrue(each.offset() >= expected, each.offset() + " and " + expected);
            if (each.offset() < damagedEnd) {
                assertArrayEquals(made.payloads().get((int) each.offset()), each.data());
            }
            consumer.ackUpTo(each.offset());
            expected = each.offset() + 1;
        }
        assertEquals(queue.endOffset(), consumer.readOffset());
    }
}
