package org.mmapqueue.tool.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.damage.Shape;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.Main;
import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;

/** Verification of directories with known damage. */
class VerifierTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Shape.Made make(Shape shape) {
        return shape.make(temp.resolve("queue"), temp.resolve("aside"));
    }

    private static VerifyReport verify(Path at) {
        Map<String, String> before = Directories.fingerprint(at);
        VerifyReport report = Verifier.verify(at, Progress.NONE);
        assertEquals(before, Directories.fingerprint(at), "verify has changed something");
        return report;
    }

    /** The only damage. */
    private static Finding damage(Path at) {
        List<Finding> all = verify(at).findings().stream()
                .filter(each -> each.kind() == Finding.Kind.CORRUPT)
                .toList();
        assertEquals(1, all.size(), all.toString());
        return all.get(0);
    }

    @ParameterizedTest
    @EnumSource
    void aWholeQueueHasNoFindings(Shape shape) {
        Shape.Made made = make(shape);
        VerifyReport report = verify(made.path());
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(2, report.version());
        assertEquals(made.payloads().size(), report.endOffset());
        assertEquals(report.endOffset() - report.firstOffset(), report.records());
        assertTrue(report.firstOffset() <= made.first(), "first " + report.firstOffset() + " of " + made.first());
        long bytes = made
                .payloads()
                .subList((int) report.firstOffset(), made.payloads().size())
                .stream()
                .mapToLong(each -> each.length)
                .sum();
        assertEquals(bytes, report.payloadBytes());
        assertEquals(shape != Shape.KILLED && shape != Shape.BATCHES, report.clean());
        for (ConsumerState each : report.consumers()) {
            assertEquals(made.committed().get(each.name()), each.offset(), each.name());
            assertEquals(each.position(), each.resumePosition());
        }
        assertEquals(made.committed().size(), report.consumers().size());
    }

    @Test
    void aNewQueueIsWhole() {
        Path at = temp.resolve("queue");
        MmapQueue.open(Shape.Made.config(at, true)).close();
        VerifyReport report = verify(at);
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(0, report.records());
        assertEquals(0, report.endOffset());
    }

    @Test
    void eachBitOfAPayloadIsVerified() {
        Shape.Made made = make(Shape.CLEAN);
        Path file = made.path().resolve("0_segment.dat");
        int third = 64 + 16 + 16 + (made.payloads().get(1).length + 7 & ~7);
        Directories.flip(file, third + 16 + 5, 1 << 3);
        Finding found = damage(made.path());
        assertEquals(file.toString(), found.file());
        assertEquals(third, found.position());
        assertEquals(2, found.firstLost());
        assertEquals(2, found.lastLost());
        assertTrue(found.exact());
        assertTrue(found.detail().contains("checksum"), found.detail());
    }

    @Test
    void offsetsAfterAHoleComeFromTheNextSegment() {
        Shape.Made made = make(Shape.CLEAN);
        Path file = made.path().resolve("0_segment.dat");
        Directories.overwrite(file, 64, new byte[1000]);
        Finding found = damage(made.path());
        assertEquals(0, found.firstLost());
        VerifyReport report = verify(made.path());
        assertEquals(report.endOffset() - found.lost(), report.records());
        assertEquals(Shape.RECORDS, report.endOffset());
        assertTrue(found.exact());
        long lost = 0;
        int at = 64;
        while (at < 1064) {
            at += 16 + (made.payloads().get((int) lost++).length + 7 & ~7);
        }
        assertEquals(lost, found.lost());
    }

    @Test
    void theRecordsOfAMissingSegmentAreCountedByItsNeighbours() throws IOException {
        Shape.Made made = make(Shape.LAPPED);
        VerifyReport whole = verify(made.path());
        Path file = made.path().resolve((endId(made.path()) - 1) % Shape.CAPACITY + "_segment.dat");
        Files.delete(file);
        VerifyReport report = verify(made.path());
        assertFalse(report.isWhole());
        assertEquals(whole.endOffset(), report.endOffset());
        assertEquals(whole.records() - report.records(), report.lost());
        assertTrue(
                report.findings().stream().allMatch(each -> each.exact()),
                report.findings().toString());
    }

    @Test
    void aDamagedSegmentHeaderCostsNoRecord() {
        Shape.Made made = make(Shape.CLEAN);
        for (int at : new int[] {0, 9, 17, 25, 33, 41, 49, 57, 61}) {
            Path copy = Directories.copy(made.path(), temp.resolve("copy-" + at));
            Directories.flip(copy.resolve("1_segment.dat"), at, 4);
            Finding found = damage(copy);
            assertTrue(found.file().endsWith("1_segment.dat") && found.position() < 64, found.toString());
            assertEquals(0, found.lost(), found.toString());
            assertEquals(Shape.RECORDS, verify(copy).records());
        }
    }

    @Test
    void aTornTailIsNoDamage() {
        Shape.Made made = make(Shape.KILLED);
        Directories.losePower(made.path());
        long writing = Directories.word(made.path().resolve("meta.dat"), 512);
        Path file = made.path().resolve(writing / Shape.SEGMENT + "_segment.dat");
        Directories.flip(file, (int) (writing % Shape.SEGMENT) - 9, 1);
        VerifyReport report = verify(made.path());
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(
                1,
                report.findings().stream()
                        .filter(each -> each.kind() == Finding.Kind.TORN)
                        .count());
        assertEquals(made.payloads().size() - 1, report.endOffset());
    }

    @Test
    void anAckedRecordThatALossOfPowerHasTornIsNotLost() throws InterruptedException {
        Path directory = temp.resolve("queue");
        Path left;
        long end;
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(directory, true))) {
            Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
            queue.push(Payload.of(0, 100));
            queue.push(Payload.of(1, 1999));
            consumer.pop(Duration.ofMinutes(1));
            consumer.ackUpTo(consumer.pop(Duration.ofMinutes(1)).offset());
            end = queue.stats().writingPosition();
            left = Directories.losePower(Directories.copy(directory, temp.resolve("left")));
        }
        Directories.flip(left.resolve("0_segment.dat"), (int) end - 9, 1);
        MmapQueue.open(Shape.Made.config(left, true)).close();
        VerifyReport report = verify(left);
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(2, report.endOffset());
    }

    @Test
    void aMetaPageThatSatelliteHasCutIsRebuilt() {
        for (Shape shape : Shape.values()) {
            Shape.Made made = shape.make(temp.resolve(shape + "-queue"), temp.resolve(shape + "-aside"));
            VerifyReport whole = verify(made.path());
            Directories.resize(made.path().resolve("meta.dat"), 80);
            VerifyReport report = verify(made.path());
            assertFalse(report.isWhole());
            assertEquals(whole.endOffset(), report.endOffset(), shape + ": " + report.findings());
            assertEquals(0, report.lost(), shape + ": " + report.findings());
            assertTrue(
                    report.findings().get(0).detail().contains("Satellite"),
                    report.findings().toString());
        }
    }

    /** A faulty writer's header with a valid checksum must not lead out of the segment. */
    @Test
    void anImpossibleHeaderWithAValidChecksumIsDamage() throws IOException {
        Shape.Made made = make(Shape.LAPPED);
        Directories.resize(made.path().resolve("meta.dat"), 80);
        for (int first : new int[] {Integer.MIN_VALUE, -8, 8, 66, Shape.SEGMENT, 1 << 20, Integer.MAX_VALUE - 7}) {
            Path copy = Directories.copy(made.path(), temp.resolve("copy" + first));
            Path file = copy.resolve("1_segment.dat");
            ByteBuffer bytes = ByteBuffer.wrap(Directories.read(file)).order(ByteOrder.LITTLE_ENDIAN);
            bytes.putInt(56, first);
            CRC32C crc = new CRC32C();
            crc.update(bytes.array(), 0, 60);
            bytes.putInt(60, (int) crc.getValue());
            Files.write(file, bytes.array());
            VerifyReport report = verify(copy);
            assertTrue(
                    report.findings().stream()
                            .anyMatch(each -> each.kind() == Finding.Kind.CORRUPT
                                    && each.file().equals(file.toString())
                                    && each.position() == 56),
                    report.findings().toString());
        }
    }

    @Test
    void filesThatNoQueueUsesAreOrphaned() throws IOException {
        Shape.Made made = make(Shape.CONSUMERS);
        Path other =
                Shape.CLEAN.make(temp.resolve("other"), temp.resolve("aside")).path();
        Files.copy(other.resolve("0_segment.dat"), made.path().resolve("7_segment.dat"));
        Files.copy(other.resolve("1_segment.dat"), made.path().resolve("9_segment.dat"));
        Files.createFile(made.path().resolve("meta.dat.new"));
        Files.createFile(made.path().resolve("notes"));
        Files.copy(made.path().resolve("consumers/a.inflight"), made.path().resolve("consumers/gone.inflight"));
        VerifyReport report = verify(made.path());
        assertTrue(report.isWhole(), report.findings().toString());
        List<String> names = report.findings().stream()
                .map(each -> Path.of(each.file()).getFileName().toString())
                .sorted()
                .toList();
        assertEquals(List.of("7_segment.dat", "9_segment.dat", "gone.inflight", "meta.dat.new", "notes"), names);
    }

    @Test
    void theErrorForAnOpenQueueHasThePid() {
        Path at = temp.resolve("queue");
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(at, true))) {
            queue.push(new byte[1]);
            LockedException held = assertThrows(LockedException.class, () -> Verifier.verify(at, Progress.NONE));
            assertEquals(ProcessHandle.current().pid(), held.pid());
        }
        assertTrue(verify(at).isWhole());
    }

    @Test
    void aDirectoryWithoutAQueueThrows() throws IOException {
        assertThrows(MmapQueueException.class, () -> Verifier.verify(temp.resolve("none"), Progress.NONE));
        Path empty = Files.createDirectory(temp.resolve("empty"));
        assertThrows(MmapQueueException.class, () -> Verifier.verify(empty, Progress.NONE));
        assertEquals(0, empty.toFile().list().length);
    }

    @Test
    void progressEndsAtItsTotal() {
        Shape.Made made = make(Shape.LAPPED);
        long[] last = {0, 0};
        Verifier.verify(made.path(), (done, total) -> {
            assertTrue(done >= last[0] && done <= total, done + " of " + total);
            last[0] = done;
            last[1] = total;
        });
        assertEquals(last[1], last[0]);
        assertTrue(last[1] >= 2L * Shape.SEGMENT, "total " + last[1]);
    }

    @Test
    void theExitStatusReportsDamage() {
        Shape.Made made = make(Shape.CLEAN);
        assertEquals(Main.WHOLE, run("verify", made.path().toString()));
        Directories.flip(made.path().resolve("0_segment.dat"), 90, 1);
        assertEquals(Main.DAMAGED, run("verify", made.path().toString()));
        assertTrue(said.contains("0_segment.dat") && said.contains("offset"), said);
        assertEquals(Main.DAMAGED, run("verify", temp.resolve("none").toString()));
        for (String[] wrong : new String[][] {
            {},
            {"verify"},
            {"verify", "a", "b"},
            {"repair", "a"},
            {"other"},
            {"repair", "a", "--to"},
            {"repair", "a", "--to", "b", "--in-place"},
            {"repair", "a", "--to", "b", "--yes"}
        }) {
            assertEquals(Main.USAGE, run(wrong), String.join(" ", wrong));
        }
        assertEquals(Main.WHOLE, run("--help"));
    }

    private String said;

    private int run(String... words) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        int status = Main.run(List.of(words), out, out);
        said = bytes.toString(StandardCharsets.UTF_8);
        return status;
    }

    private static long endId(Path at) {
        return (Directories.word(at.resolve("meta.dat"), 512) - 1) / Shape.SEGMENT;
    }
}
