package org.mmapqueue.tool.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.TestDisk;
import org.mmapqueue.damage.Shape;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;

/** Unusual states of healthy queues: verify reports no damage, and repair succeeds. */
class VerifierAlarmTest {
    private static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path at() {
        return temp.resolve("queue");
    }

    private QueueConfig retaining() {
        return QueueConfig.builder(at())
                .segmentSize(SEGMENT)
                .queueCapacitySegments(12)
                .maxEventSize(20_000)
                .retainBytes(1 << 20)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private List<Finding> assertWhole(long end) {
        VerifyReport report = Verifier.verify(at(), Progress.NONE);
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(end, report.endOffset());
        assertEquals(report.endOffset() - report.firstOffset(), report.records());
        Path target = temp.resolve("repaired-" + end);
        assertEquals(
                List.of(), Repairer.repair(at(), target, false, Progress.NONE).lost());
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(target).build())) {
            assertEquals(end, queue.endOffset());
        }
        return report.findings();
    }

    /** Records that all consumers have acked need not survive a loss of power: a part of them may be left. */
    @Test
    void aLossOfPowerMayCutWhatAllHaveAcked() throws IOException {
        for (int seed = 0; seed < 100; seed++) {
            Path lost = temp.resolve("lost-" + seed);
            Path directory = temp.resolve("queue-" + seed);
            TestDisk disk = new TestDisk();
            try (MmapQueue queue = disk.open(small(directory))) {
                Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
                queue.push(new byte[3900]);
                consumer.seek(StartAt.LATEST);
                queue.push(new byte[35]);
                disk.lose(directory, lost, new SplittableRandom(seed), 50);
            }
            MmapQueue.open(small(lost)).close();
            VerifyReport report = Verifier.verify(lost, Progress.NONE);
            assertTrue(report.isWhole(), () -> report.findings().toString());
            Directories.delete(directory);
            Directories.delete(lost);
        }
    }

    private static QueueConfig small(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(12)
                .flushPeriod(Duration.ofHours(1))
                .build();
    }

    /** The oldest segment may hold only the middle of a record that begins before it. */
    @ParameterizedTest
    @ValueSource(ints = {7_992, 12_000, 15_000, 19_992})
    void retentionMayBeginInsideARecord(int length) {
        TestDisk disk = new TestDisk(); // no thread reclaims ahead of the pushes
        int inside = 0;
        for (int i = 0; i < 25; i++) {
            try (MmapQueue queue = disk.open(retaining())) {
                queue.push(Payload.of(i, length - i * 8));
                queue.consumer().ackUpTo(queue.consumer().pop().offset());
            }
            long reclaimed = Directories.word(at().resolve("meta.dat"), 832) / SEGMENT;
            Path first = at().resolve(reclaimed % 12 + "_segment.dat");
            inside += (int) Directories.word(first, 56) == 0 ? 1 : 0;
            assertWhole(i + 1);
        }
        assertTrue(inside > 0, "no segment lay inside of a record");
    }

    /** A copy of a directory may have such a file. */
    @ParameterizedTest
    @ValueSource(ints = {0, 20, 40, 47})
    void aTruncatedInFlightFileIsNoDamage(int length) throws IOException {
        Shape.CONSUMERS.make(at(), temp.resolve("aside"));
        Path file = at().resolve("consumers/a.inflight");
        assertTrue(Files.size(file) > length);
        Directories.resize(file, length);
        List<Finding> findings = assertWhole(Shape.RECORDS);
        assertEquals(1, findings.size());
        assertEquals(Finding.Kind.ORPHANED, findings.get(0).kind());
        assertEquals(file.toString(), findings.get(0).file());
    }

    /** As above. */
    @Test
    void anInFlightFileOfZerosIsNoDamage() throws IOException {
        Shape.CONSUMERS.make(at(), temp.resolve("aside"));
        Path file = at().resolve("consumers/b.inflight");
        Files.write(file, new byte[(int) Files.size(file)]);
        assertEquals(Finding.Kind.ORPHANED, assertWhole(Shape.RECORDS).get(0).kind());
    }

    /** The process ended, or the disk failed, after it stored its page and before the writer saw it. */
    @Test
    void aHalfCreatedConsumerIsNoDamage() throws IOException {
        Shape.Made made = Shape.LAPPED.make(at(), temp.resolve("aside"));
        Path early = temp.resolve("early");
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(early, true))) {
            queue.createConsumer("half", StartAt.EARLIEST);
        }
        Path page = at().resolve("consumers/half.dat");
        Files.createDirectories(page.getParent());
        Files.copy(early.resolve("consumers/half.dat"), page);
        ownPage(page);
        List<Finding> findings = assertWhole(made.payloads().size());
        assertEquals(
                List.of(Finding.Kind.ORPHANED),
                findings.stream().map(Finding::kind).toList());
        assertTrue(findings.get(0).detail().contains("half"), findings.toString());
        try (MmapQueue queue = MmapQueue.open(Shape.Made.config(at(), true))) {
            Consumer half = queue.consumer("half", StartAt.EARLIEST);
            long first = queue.firstOffset();
            assertEquals(first, half.readOffset());
            Payload.assertMessages(
                    first, made.payloads().subList((int) first, made.payloads().size()), Payload.drain(half));
            assertNull(half.poll());
        }
    }

    /** The disk fails from some call of createConsumer on, and recovers later. The queue works, and is closed. */
    @Test
    void aFailedCreateConsumerIsNoDamage() {
        int failures = 0;
        for (int call = 1; call < 30; call++) {
            FaultyStorage storage = new FaultyStorage();
            try (StorageQueue queue = StorageQueue.open(Shape.Made.config(at(), true), storage)) {
                queue.push(new byte[3000]);
                storage.stopAt(call);
                try {
                    queue.createConsumer("half", StartAt.EARLIEST);
                } catch (MmapQueueException e) {
                    failures++;
                }
                storage.heal();
                for (int i = 1; i < 40 && !queue.consumers().contains("half"); i++) {
                    queue.push(Payload.of(i, 3000));
                    queue.ackUpTo("default", queue.poll("default").offset());
                    queue.housekeeperStep();
                }
            }
            VerifyReport report = Verifier.verify(at(), Progress.NONE);
            assertTrue(report.isWhole(), "call " + call + ": " + report.findings());
            Directories.delete(at());
        }
        assertTrue(failures > 5, "failures " + failures);
    }

    /** The disk is full at some call that creates the queue, a consumer or a producer; later there is room again. */
    @ParameterizedTest
    @EnumSource(
            value = FaultyStorage.Fault.class,
            names = {"NO_SPACE", "SHORT_WRITE", "INPUT_OUTPUT"})
    void aFailedCreationLeavesNoUnfinishedFile(FaultyStorage.Fault fault) throws IOException {
        int failures = 0;
        for (int call = 0; call < 60; call++) {
            FaultyStorage storage = new FaultyStorage();
            storage.failOnce(call, fault);
            try (StorageQueue queue = StorageQueue.open(Shape.Made.config(at(), true), storage)) {
                queue.createConsumer("half", StartAt.EARLIEST);
                queue.pushOnce("importer", 1, List.of(new byte[3000]), false);
            } catch (MmapQueueException e) {
                failures++;
            }
            assertEquals(List.of(), unfinished(), fault + " at call " + call + ", " + storage.failed());
            if (Files.exists(at().resolve("meta.dat"))) {
                VerifyReport report = Verifier.verify(at(), Progress.NONE);
                assertTrue(report.isWhole(), "call " + call + ": " + report.findings());
            }
            if (Files.exists(at())) {
                Directories.delete(at());
            }
        }
        assertTrue(failures > 3, "failures " + failures);
    }

    private List<Path> unfinished() throws IOException {
        if (!Files.exists(at())) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(at())) {
            return files.filter(file -> file.toString().endsWith(".new")).toList();
        }
    }

    /** The close stores the records in flight on a full disk. */
    @Test
    void aCloseOnAFullDiskIsNoDamage() {
        FaultyStorage storage = new FaultyStorage();
        StorageQueue queue = StorageQueue.open(Shape.Made.config(at(), true), storage);
        queue.push(new byte[10]);
        queue.poll("default");
        storage.failWhen((call, path) ->
                call == FaultyStorage.Call.WRITE && path.toString().endsWith(".inflight.new"));
        assertThrows(MmapQueueException.class, queue::close);
        storage.heal();
        assertEquals(List.of(), assertWhole(1));
    }

    // Gives the page this queue's UUID.
    private void ownPage(Path page) {
        byte[] meta = Directories.read(at().resolve("meta.dat"));
        byte[] bytes = Directories.read(page);
        System.arraycopy(meta, 88, bytes, 8, 16);
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, 32);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(32, (int) crc.getValue());
        Directories.overwrite(page, 0, bytes);
    }
}
