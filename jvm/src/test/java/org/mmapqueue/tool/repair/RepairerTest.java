package org.mmapqueue.tool.repair;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.damage.Shape;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.RepairReport;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;
import org.mmapqueue.v1.V1Sample;

/** Repairs of damaged directories. */
class RepairerTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private int repaired;

    private Shape.Made make(Shape shape) {
        return shape.make(temp.resolve("queue"), temp.resolve("aside"));
    }

    /** Repairs a copy: the damaged directory is unchanged, the copy is whole. */
    private RepairReport repair(Path damaged) {
        Map<String, String> before = Directories.fingerprint(damaged);
        Path target = temp.resolve("repaired-" + repaired++);
        RepairReport report = Repairer.repair(damaged, target, false, Progress.NONE);
        assertEquals(before, Directories.fingerprint(damaged), "the original was changed");
        VerifyReport after = Verifier.verify(target, Progress.NONE);
        assertTrue(after.isWhole(), after.findings().toString());
        assertEquals(
                report.before().records(),
                after.records(),
                () -> report.before().findings() + " " + report.actions() + after.findings());
        assertEquals(report.before().endOffset(), after.endOffset());
        return report;
    }

    /** Opens, reads each record that a consumer has not acked, pushes one and reads that. */
    private static void assertWorks(Shape.Made made, Path at) {
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(at).build())) {
            long committed = queue.consumer().committedOffset();
            Payload.assertMessages(
                    committed,
                    made.payloads().subList((int) committed, made.payloads().size()),
                    Payload.drain(queue));
            queue.consumer().ackUpTo(made.payloads().size() - 1L);
            assertEquals(made.payloads().size(), queue.push(new byte[] {1, 2, 3}));
            Payload.assertMessages(made.payloads().size(), List.of(new byte[] {1, 2, 3}), Payload.drain(queue));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aWholeQueueIsCopied(Shape shape) {
        Shape.Made made = make(shape);
        RepairReport report = repair(made.path());
        assertTrue(report.lost().isEmpty(), report.lost().toString());
        assertWorks(made, Path.of(report.path()));
    }

    @ParameterizedTest
    @EnumSource
    void aMetaPageIsRebuilt(Shape shape) throws IOException {
        Shape.Made made = make(shape);
        for (int cut : new int[] {80, 0, 512, 4095}) {
            Path damaged = Directories.copy(made.path(), temp.resolve("cut-" + cut));
            Directories.resize(damaged.resolve("meta.dat"), cut);
            RepairReport report = repair(damaged);
            assertTrue(report.lost().isEmpty(), report.lost().toString());
            assertEquals(made.payloads().size(), report.before().endOffset());
            assertWorks(made, Path.of(report.path()));
        }
        Path noise = Directories.copy(made.path(), temp.resolve("noise"));
        byte[] bytes = new byte[4096];
        new Random(7).nextBytes(bytes);
        Directories.overwrite(noise.resolve("meta.dat"), 0, bytes);
        assertWorks(made, Path.of(repair(noise).path()));
        Path none = Directories.copy(made.path(), temp.resolve("none"));
        Files.delete(none.resolve("meta.dat"));
        assertWorks(made, Path.of(repair(none).path()));
    }

    @ParameterizedTest
    @EnumSource
    void headersOfSegmentsAreRebuilt(Shape shape) {
        Shape.Made made = make(shape);
        VerifyReport whole = Verifier.verify(made.path(), Progress.NONE);
        for (Path segment : Directories.segments(made.path())) {
            if (Directories.word(segment, 0) == 0) {
                continue;
            }
            for (int length : new int[] {8, 64}) {
                Path damaged = Directories.copy(made.path(), temp.resolve(segment.getFileName() + "-" + length));
                Directories.overwrite(damaged.resolve(segment.getFileName()), 64 - length, new byte[length]);
                RepairReport report = repair(damaged);
                boolean torn = report.before().isWhole();
                assertTrue(
                        torn
                                || report.before().records() == whole.records()
                                || !report.lost().isEmpty(),
                        report.toString());
            }
        }
    }

    /** Up to 100 bytes of any segment: exactly the missing records are reported as lost. */
    @ParameterizedTest
    @EnumSource
    void damagedRangesBecomeGaps(Shape shape) {
        Shape.Made made = make(shape);
        VerifyReport whole = Verifier.verify(made.path(), Progress.NONE);
        Random random = new Random(shape.ordinal());
        for (Path segment : Directories.segments(made.path())) {
            for (int round = 0; round < 12; round++) {
                Path damaged = Directories.copy(made.path(), temp.resolve(segment.getFileName() + "-" + round));
                byte[] noise = new byte[1 + random.nextInt(100)];
                random.nextBytes(noise);
                Directories.overwrite(
                        damaged.resolve(segment.getFileName()),
                        64 + random.nextInt(Shape.SEGMENT - 64 - noise.length),
                        noise);
                RepairReport report = repair(damaged);
                VerifyReport before = report.before();
                if (before.isWhole()) {
                    continue; // It has hit unused bytes, or a tail that is cut.
                }
                boolean exact = before.findings().stream().allMatch(each -> each.exact());
                if (exact && !report.lost().isEmpty()) {
                    assertEquals(
                            whole.records() - before.records(),
                            before.lost(),
                            before.findings().toString());
                    assertEquals(whole.endOffset(), before.endOffset());
                } else {
                    assertTrue(
                            before.endOffset() >= whole.endOffset(),
                            before.findings().toString());
                }
                Directories.delete(damaged);
                Directories.delete(Path.of(report.path()));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aMissingSegmentIsRepaired(Shape shape) throws IOException {
        Shape.Made made = make(shape);
        VerifyReport whole = Verifier.verify(made.path(), Progress.NONE);
        for (Path segment : Directories.segments(made.path())) {
            Path damaged = Directories.copy(made.path(), temp.resolve("no-" + segment.getFileName()));
            Files.delete(damaged.resolve(segment.getFileName()));
            RepairReport report = repair(damaged);
            assertTrue(
                    report.before().isWhole() || report.before().endOffset() >= whole.endOffset(), report.toString());
        }
    }

    @Test
    void aConsumerWithinAHoleMovesToTheNextWholeRecord() {
        Shape.Made made = make(Shape.CLEAN);
        Directories.overwrite(made.path().resolve("0_segment.dat"), 64, new byte[1000]);
        RepairReport report = repair(made.path());
        assertTrue(
                report.actions().stream()
                        .anyMatch(each -> each.contains("consumer default continues at offset "
                                + (report.lost().get(0).lastLost() + 1))),
                report.actions().toString());
        VerifyReport after = Verifier.verify(Path.of(report.path()), Progress.NONE);
        for (ConsumerState each : after.consumers()) {
            assertEquals(each.name().equals("named") ? 0 : report.lost().get(0).lastLost() + 1, each.offset());
        }
    }

    @Test
    void aDamagedConsumerPageKeepsItsPositionIfReadable() {
        Shape.Made made = make(Shape.CONSUMERS);
        Path page = made.path().resolve("consumers/a.dat");
        Directories.flip(page, 3, 1);
        VerifyReport after = Verifier.verify(Path.of(repair(made.path()).path()), Progress.NONE);
        assertEquals(made.committed().get("a"), after.consumers().get(0).offset());
        Directories.resize(page, 10);
        after = Verifier.verify(Path.of(repair(made.path()).path()), Progress.NONE);
        assertEquals(0, after.consumers().get(0).offset());
        assertEquals("a", after.consumers().get(0).name());
    }

    @Test
    void repairInPlaceChangesTheQueueItself() {
        Shape.Made made = make(Shape.CLEAN);
        Directories.flip(made.path().resolve("meta.dat"), 140, 1);
        Directories.flip(made.path().resolve("1_segment.dat"), 30, 1);
        RepairReport report = Repairer.repairInPlace(made.path(), false, Progress.NONE);
        assertEquals(made.path().toString(), report.path());
        assertFalse(report.before().isWhole());
        assertTrue(report.lost().isEmpty());
        assertWorks(made, made.path());
    }

    @Test
    void repairedFilesAreForTheirOwnerAlone() throws IOException {
        Shape.Made made = make(Shape.CONSUMERS);
        Files.delete(made.path().resolve("meta.dat"));
        Path target = Path.of(repair(made.path()).path());
        try (Stream<Path> files = Files.walk(target)) {
            for (Path each : files.toList()) {
                assertEquals(
                        Files.isDirectory(each) ? "rwx------" : "rw-------",
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(each)),
                        each.toString());
            }
        }
    }

    /** Other records may get the offsets of its records. */
    @Test
    void anInFlightFileOfRecordsAfterTheLogEndIsNotCopied() throws IOException {
        Shape.Made made = make(Shape.CONSUMERS);
        assertTrue(Files.exists(made.path().resolve("consumers/a.inflight")));
        Path file = made.path().resolve("consumers/b.inflight");
        ByteBuffer bytes = ByteBuffer.wrap(Directories.read(file)).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(InFlightDescriptor.READING, 1L << 40);
        bytes.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(bytes));
        Files.write(file, bytes.array());
        RepairReport report = repair(made.path());
        assertTrue(report.before().isWhole(), report.before().findings().toString());
        assertEquals(Finding.Kind.ORPHANED, report.before().findings().get(0).kind());
        assertEquals(file.toString(), report.before().findings().get(0).file());
        assertTrue(Files.exists(Path.of(report.path()).resolve("consumers/a.inflight")));
        assertFalse(Files.exists(Path.of(report.path()).resolve("consumers/b.inflight")));
    }

    private static final String[] PRODUCERS = {"a", "b"};

    private Path withProducers() throws InterruptedException {
        Path path = temp.resolve("queue");
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(path, true))) {
            queue.createConsumer("default", StartAt.EARLIEST);
            for (String producer : PRODUCERS) {
                queue.pushOnce(producer, 7, List.of(new byte[3], new byte[4]), Duration.ZERO);
            }
        }
        return path;
    }

    private static void assertRepeats(Path at, String producer, boolean stored) throws InterruptedException {
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(at).build())) {
            assertEquals(
                    stored,
                    queue.pushOnce(producer, 7, List.of(new byte[3], new byte[4]), Duration.ZERO)
                            .isPresent());
        }
    }

    /** With the stored identity of the queue, and with one that the pages of producers alone still have. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBatchThatIsRepeatedAfterARepairIsStoredOnce(boolean withoutMeta) throws Exception {
        Path path = withProducers();
        if (withoutMeta) {
            Files.delete(path.resolve("meta.dat"));
        } else {
            Directories.flip(path.resolve("0_segment.dat"), 20, 1);
        }
        Path target = Path.of(repair(path).path());
        for (String producer : PRODUCERS) {
            assertRepeats(target, producer, false);
        }
        Repairer.repairInPlace(path, false, Progress.NONE);
        assertRepeats(path, "a", false);
    }

    /** The queue can be opened again; the report says what the producer has lost. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aDamagedPageOfAProducerIsLeftOut(boolean inPlace) throws InterruptedException {
        Path path = withProducers();
        Path page = path.resolve("producers/a.dat");
        Directories.flip(page, 520, 1);
        Finding found = Verifier.verify(path, Progress.NONE).findings().get(0);
        assertEquals(Finding.Kind.CORRUPT, found.kind());
        assertEquals(page.toString(), found.file());
        assertEquals(512, found.position());
        RepairReport report = inPlace ? Repairer.repairInPlace(path, false, Progress.NONE) : repair(path);
        assertTrue(
                report.actions().stream().anyMatch(each -> each.startsWith("left out " + page)),
                report.actions().toString());
        Path target = Path.of(report.path());
        assertFalse(Files.exists(target.resolve("producers/a.dat")));
        assertRepeats(target, "a", true);
        assertRepeats(target, "b", false);
    }

    @Test
    void anOpenQueueAndAnExistingTargetThrow() throws IOException {
        Shape.Made made = make(Shape.CLEAN);
        Path full = Files.createDirectory(temp.resolve("full"));
        Files.writeString(full.resolve("file"), "text");
        assertThrows(MmapQueueException.class, () -> Repairer.repair(made.path(), full, false, Progress.NONE));
        assertEquals("text", Files.readString(full.resolve("file")));
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(made.path(), true))) {
            assertThrows(
                    LockedException.class,
                    () -> Repairer.repair(made.path(), temp.resolve("to"), false, Progress.NONE));
            assertThrows(LockedException.class, () -> Repairer.repairInPlace(made.path(), false, Progress.NONE));
            assertEquals(made.payloads().size(), queue.endOffset());
        }
        assertFalse(Files.exists(temp.resolve("to")));
    }

    /** After a kill the log goes on in a new segment, of a higher epoch. */
    @Test
    void aRecordAfterARepairedHeaderMayContinueInTheNextSegment() {
        Path killed = temp.resolve("killed");
        try (MmapQueue queue = MmapQueue.open(small(temp.resolve("queue")))) {
            queue.push(new byte[1]);
            Directories.copyOpen(temp.resolve("queue"), killed, 4096);
        }
        try (MmapQueue queue = MmapQueue.open(small(killed))) {
            queue.push(new byte[2]);
        }
        Directories.flip(killed.resolve("1_segment.dat"), 28, 0xFF); // in the segment's id
        Repairer.repairInPlace(killed, false, Progress.NONE);
        try (MmapQueue queue = MmapQueue.open(small(killed))) {
            queue.push(new byte[5000]);
            for (int length : new int[] {1, 2, 5000}) {
                assertEquals(length, queue.consumer().poll().data().length);
            }
        }
    }

    private static QueueConfig small(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxEventSize(8000)
                .build();
    }

    @Test
    void version1Throws() {
        Path sample = V1Sample.of("a-three-small").copy(temp);
        VerifyReport report = Verifier.verify(sample, Progress.NONE);
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(1, report.version());
        assertEquals(3, report.records());
        Map<String, String> before = Directories.fingerprint(sample);
        MmapQueueException refused =
                assertThrows(MmapQueueException.class, () -> Repairer.repairInPlace(sample, false, Progress.NONE));
        assertTrue(refused.getMessage().contains("version 1"), refused.getMessage());
        assertEquals(before, Directories.fingerprint(sample));
    }
}
