package org.mmapqueue.archive.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StoredLog;

/** Runs are read as they were written, record by record, with all that a checksum covers. */
class RunFormatTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private void assertHolds(RunName name, StoredLog log, long from, long to) throws IOException {
        try (RunFile run = RunFile.open(new LocalFiles(temp), 0, name, log.queue)) {
            long next = from;
            for (int block = 0; block < run.blocks(); block++) {
                assertEquals(block, run.blockOf(next));
                RecordCursor records = run.read(block, to);
                while (records.next()) {
                    records.check();
                    StoredRecord found = records.stored();
                    assertSame(log.records(next, found.end()).get(0), found);
                    next = found.end();
                }
                assertEquals(next, run.endOf(block));
            }
            assertEquals(to, next);
        }
    }

    private static void assertSame(StoredRecord expected, StoredRecord found) {
        byte[] payload = new byte[found.length()];
        System.arraycopy(found.array(), found.from(), payload, 0, payload.length);
        StoredRecord own = new StoredRecord(
                found.offset(),
                found.baseOffset(),
                found.baseTime(),
                found.lengthAndFlags(),
                found.checksum(),
                found.timestampMicros(),
                found.lost(),
                expected.array(),
                0,
                payload.length);
        assertEquals(expected, own);
        assertArrayEquals(expected.array(), payload);
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void randomRecordsAreReadBack(ArchiveCodec codec) throws IOException {
        for (int seed = 0; seed < 30; seed++) {
            Random random = new Random(seed);
            StoredLog log = StoredLog.random(random, 1 + random.nextInt(400), 20_000, seed * 1000L);
            RunName name = ArchiveRuns.publish(new LocalFiles(temp), log, log.first(), log.end(), codec);
            assertHolds(name, log, log.first(), log.end());
        }
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void aRecordLargerThanABlockIsABlock(ArchiveCodec codec) throws IOException {
        StoredLog log = new StoredLog(1 << 20, 0);
        log.add(new byte[100], true);
        log.add(new byte[5_000_000], true);
        log.add(new byte[100], true);
        log.add(new byte[RunLayout.BLOCK], true);
        RunName name = ArchiveRuns.publish(new LocalFiles(temp), log, 0, 4, codec);
        assertHolds(name, log, 0, 4);
    }

    @Test
    void blocksAreUpTo256KiB() throws IOException {
        StoredLog log = new StoredLog(64 << 20, 0);
        for (int i = 0; i < 10_000; i++) {
            log.add(new byte[1000], true);
        }
        RunName name = ArchiveRuns.publish(new LocalFiles(temp), log, 0, 10_000, ArchiveCodec.NONE);
        assertEquals(10_000L * 1016, name.bytes());
        try (RunFile run = RunFile.open(new LocalFiles(temp), 0, name, log.queue)) {
            assertEquals(10_000 / (RunLayout.BLOCK / 1016) + 1, run.blocks());
            // Any record by itself, and any order.
            for (long offset : new long[] {9999, 0, 5000, 257, 256, 258}) {
                RecordCursor records = run.read(run.blockOf(offset), offset + 1);
                records.moveTo(offset);
                records.check();
                assertSame(log.record(offset), records.stored());
            }
        }
        assertHolds(name, log, 0, 10_000);
    }

    @Test
    void theNameSaysTimestampsAndBytes() throws IOException {
        StoredLog log = new StoredLog(4096, 7);
        log.add(new byte[3], false);
        log.add(new byte[3], true);
        log.addGap(3);
        log.add(new byte[0], true);
        RunName name = ArchiveRuns.publish(new LocalFiles(temp), log, 7, 13, ArchiveCodec.NONE);
        assertEquals(log.record(8).timestampMicros(), name.minMicros());
        assertEquals(log.record(12).timestampMicros(), name.maxMicros());
        assertEquals(24 + 24 + 16 + 16, name.bytes());
        assertEquals(3, name.lost());
        RunName without = ArchiveRuns.publish(new LocalFiles(temp), log, 7, 8, ArchiveCodec.NONE);
        assertEquals(0, without.minMicros());
        assertEquals(0, without.maxMicros());
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void aMergedRunIsTheRunOfAllRecords(ArchiveCodec codec) throws IOException {
        LocalFiles files = new LocalFiles(temp);
        StoredLog log = StoredLog.random(new Random(1), 600, 5000, 0);
        List<RunName> parts = ArchiveRuns.publishAll(files, log, 40, new Random(2), ArchiveCodec.NONE);
        RunName merged = RunMerger.merge(files, 0, log.queue, parts, codec, () -> false, () -> {});
        assertHolds(merged, log, 0, 600);
        // Written in one go, it has the same name: the checksum is that of the records.
        RunWriter writer = new RunWriter(log.queue, 1, codec);
        parts.forEach(each -> log.records(each.first(), each.end()).forEach(writer::add));
        assertEquals(merged, writer.publish(files, 0));
    }

    @Test
    void aRunIsPublishedOnceAndTakesNoMoreRecords() throws IOException {
        LocalFiles files = new LocalFiles(temp);
        StoredLog log = StoredLog.random(new Random(1), 20, 100, 0);
        RunWriter writer = new RunWriter(log.queue, 1, ArchiveCodec.NONE);
        assertThrows(IllegalStateException.class, () -> writer.publish(files, 0));
        log.records(0, 10).forEach(writer::add);
        RunName name = writer.publish(files, 0);
        assertEquals(10, writer.count());
        assertEquals(name.bytes(), writer.bytes());
        assertEquals(name, writer.publish(files, 0));
        assertThrows(IllegalStateException.class, () -> writer.add(log.record(10)));
        assertEquals(1, files.list("data/00000/000000000000").size());
        assertTrue(files.list(".tmp").isEmpty());
    }

    @Test
    void recordsMustFollowEachOther() {
        StoredLog log = StoredLog.random(new Random(1), 20, 100, 0);
        RunWriter writer = new RunWriter(log.queue, 1, ArchiveCodec.NONE);
        writer.add(log.record(3));
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> writer.add(log.record(5)));
        assertTrue(e.getMessage().contains("record 5 after 3; expected 4"), e.getMessage());
    }

    @Test
    void aRunOfTheFirstCandidateIsNamed() {
        byte[] header = new RunLayout.Header(ArchiveCodec.NONE, new UUID(1, 2), 0, 1).bytes();
        assertNull(RunLayout.Header.fault(header, 0));
        header[7] = '1';
        String fault = RunLayout.Header.fault(header, 0);
        assertTrue(fault != null && fault.contains("a run of version 1.0.0rc1"), fault);
    }

    @Test
    void aRunOfAnotherQueueOrNameIsDamage() throws IOException {
        LocalFiles files = new LocalFiles(temp);
        StoredLog log = StoredLog.random(new Random(1), 20, 100, 0);
        RunName name = ArchiveRuns.publish(files, log, 0, 20, ArchiveCodec.NONE);
        CorruptException queue =
                assertThrows(CorruptException.class, () -> RunFile.open(files, 0, name, new UUID(1, 2)));
        assertTrue(queue.getMessage().contains(log.queue.toString()), queue.getMessage());
        RunName other = new RunName(1, 20, 1, name.minMicros(), name.maxMicros(), name.bytes(), name.crc());
        Files.copy(temp.resolve(name.file(0)), temp.resolve(other.file(0)));
        assertThrows(CorruptException.class, () -> RunFile.open(files, 0, other, log.queue));
    }
}
