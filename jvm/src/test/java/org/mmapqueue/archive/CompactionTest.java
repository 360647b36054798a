package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.FailingArchive;
import org.mmapqueue.support.MemoryFiles;
import org.mmapqueue.support.StoredLog;

class CompactionTest {
    private static final int RECORDS = 500;

    private final MemoryFiles files = new MemoryFiles();
    /** Half of the records are in one bucket, half in the next one. */
    private final StoredLog log = StoredLog.random(new Random(3), RECORDS, 200, RunName.BUCKET - RECORDS / 2);

    @BeforeEach
    void makeArchive() throws IOException {
        Archive archive = Archive.create(files);
        archive.register(log.queue, 0, "a");
    }

    private Compaction compaction(ArchiveFiles of, Duration grace) throws IOException {
        Archive archive = Archive.open(of);
        return new Compaction(
                archive,
                archive.partitions().get(0),
                ArchiveCodec.NONE,
                grace,
                () -> false,
                () -> {},
                () -> Instant.ofEpochMilli(files.nowMillis));
    }

    private static List<RunName> runs(MemoryFiles of) {
        List<RunName> runs = new ArrayList<>();
        for (String name : of.names()) {
            RunName.parse(name.substring(name.lastIndexOf('/') + 1)).ifPresent(runs::add);
        }
        return runs;
    }

    private void assertReadable(ArchiveFiles of) throws IOException {
        Archive archive = Archive.open(of);
        ArchivePartition partition = archive.partition(archive.partitions().get(0));
        partition.refresh();
        assertEquals(log.first(), partition.firstOffset());
        assertEquals(log.end(), partition.endOffset());
        try (ArchiveReader reader = partition.reader(log.first(), log.end(), false)) {
            ArchiveRuns.assertReads(reader, log, 50);
            assertEquals(log.end(), reader.offset());
        }
    }

    @Test
    void smallRunsBecomeLargerOnes() throws IOException {
        ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        Compaction compaction = compaction(files, Duration.ZERO);
        int before = runs(files).size();
        while (compaction.step(false)) {
            assertReadable(files);
        }
        // The first bucket is complete: one run, or one more that continues in the next bucket.
        assertTrue(
                before > 100 && runs(files).size() < 60,
                before + " runs became " + runs(files).size());
        assertEquals(1, runs(files).stream().filter(run -> run.bucket() == 0).count());
        assertFalse(compaction.step(false));
    }

    @Test
    void runsFromBeforeAndAfterAResetOfTheClockBecomeOne() throws IOException {
        StoredLog reset = new StoredLog(8192, 0);
        for (int i = 0; i < CompactionPlan.FAN; i++) {
            if (i == CompactionPlan.FAN / 2) {
                reset.resetClock(1_600_000_000_000_000L);
            }
            reset.add(new byte[] {(byte) i}, true);
            ArchiveRuns.publish(files, reset, i, i + 1, ArchiveCodec.NONE);
        }
        RunName all = RunMerger.name(runs(files));
        assertEquals(1_600_000_000_001_000L, all.minMicros());
        assertTrue(all.maxMicros() > 1_700_000_000_000_000L, all::toString);
        Compaction compaction = compaction(files, Duration.ZERO);
        while (compaction.step(false)) {
            // merges and deletes
        }
        assertEquals(List.of(all), runs(files));
    }

    @Test
    void replacedRunsAreKeptForTheGrace() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        Compaction compaction = compaction(files, Duration.ofSeconds(10));
        while (compaction.step(false)) {
            // until there is nothing to merge
        }
        assertTrue(runs(files).containsAll(small));
        files.pass(Duration.ofSeconds(10).toMillis() - 1);
        assertFalse(compaction.step(false));
        files.pass(1);
        while (compaction.step(false)) {
            // deletes
        }
        assertTrue(runs(files).size() < small.size() / 2);
        assertReadable(files);
    }

    @Test
    void aReaderThatPlannedWithReplacedRunsContinuesInTheLongOne() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        try (ArchiveReader reader = ArchiveReader.of(files, 0, log.queue, small, log.first(), log.end(), false, false);
                ArchiveReader inside =
                        ArchiveReader.of(files, 0, log.queue, small, log.first(), log.end(), false, false)) {
            inside.read(1, 1, (offset, timestamp, data) -> {});
            Compaction compaction = compaction(files, Duration.ZERO);
            while (compaction.step(false)) {
                // merges and deletes
            }
            ArchiveRuns.assertReads(reader, log, 7);
            assertEquals(log.end(), reader.offset());
            ArchiveRuns.assertReads(inside, log, 7);
            assertEquals(log.end(), inside.offset());
        }
    }

    @ParameterizedTest
    @EnumSource(FailingArchive.Failure.class)
    void aKillAtAnyChangeLosesNothing(FailingArchive.Failure how) throws IOException {
        ArchiveRuns.publishAll(files, log, 8, new Random(1), ArchiveCodec.NONE);
        int kills = 0;
        for (int step = 0; ; step++) {
            MemoryFiles copy = new MemoryFiles(files);
            FailingArchive failing = new FailingArchive(copy);
            failing.failAfter(step, how);
            boolean done = false;
            try {
                Compaction compaction = compaction(failing, Duration.ZERO);
                while (compaction.step(false)) {
                    // until it fails
                }
                done = true;
            } catch (IOException e) {
                kills++;
            }
            assertReadable(copy);
            Archive archive = Archive.open(copy);
            archive.deleteUnfinished(0);
            assertEquals(List.of(), copy.list(ArchiveFiles.TEMPORARY));
            Compaction next = compaction(copy, Duration.ZERO);
            while (next.step(false)) {
                // what the killed one has left
            }
            assertReadable(copy);
            assertEquals(1, runs(copy).stream().filter(run -> run.bucket() == 0).count());
            assertTrue(
                    runs(copy).size() <= 1 + CompactionPlan.FAN * 3, runs(copy).size() + " runs");
            if (done) {
                assertTrue(kills > 50, kills + " kills");
                return;
            }
        }
    }

    @Test
    void aDamagedRunIsLeftAlone() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        RunName damaged = small.get(5);
        byte[] bytes = new byte[300];
        files.replace(damaged.file(0), bytes);
        Compaction compaction = compaction(files, Duration.ZERO);
        while (compaction.step(false)) {
            // merges the others
        }
        assertTrue(runs(files).contains(damaged));
        assertEquals(3, runs(files).stream().filter(run -> run.bucket() == 0).count());
    }

    @Test
    void aRunWithOtherRecordsThanItsNameSaysIsNotMergedAndTheOthersAre() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        RunName run = small.get(0);
        RunName wrong = renamed(run, run.minMicros(), run.crc() ^ 1);
        Compaction compaction = compaction(files, Duration.ZERO);
        while (compaction.step(false)) {
            // merges the others
        }
        assertTrue(runs(files).contains(wrong));
        assertEquals(2, runs(files).stream().filter(each -> each.bucket() == 0).count());
        assertFalse(compaction.step(false));
    }

    @Test
    void aRunWithAWrongOldestTimeInItsNameIsNotMergedAndTheOthersAre() throws IOException {
        StoredLog times = new StoredLog(8192, 0);
        for (int i = 0; i <= CompactionPlan.FAN; i++) {
            times.add(new byte[] {(byte) i}, true);
            ArchiveRuns.publish(files, times, i, i + 1, ArchiveCodec.NONE);
        }
        RunName run = runs(files).get(0);
        RunName wrong = renamed(run, run.minMicros() - 1, run.crc());
        Compaction compaction = compaction(files, Duration.ZERO);
        while (compaction.step(false)) {
            // merges the others
        }
        assertEquals(2, runs(files).size());
        assertTrue(runs(files).contains(wrong));
    }

    private RunName renamed(RunName run, long minMicros, int crc) throws IOException {
        RunName wrong = new RunName(
                run.first(), run.end(), run.epoch(), minMicros, run.maxMicros(), run.bytes(), crc, run.lost());
        byte[] bytes = bytes(run);
        files.delete(run.file(0));
        files.replace(wrong.file(0), bytes);
        return wrong;
    }

    /** An object store that stores a run after the call has failed. */
    private static final class LateFiles extends FailingFiles {
        private final Map<String, byte[]> late = new LinkedHashMap<>();
        private boolean isLate = true;

        LateFiles(ArchiveFiles files) {
            super(files);
        }

        @Override
        public boolean createsLate() {
            return true;
        }

        @Override
        public boolean create(String name, Content content) throws IOException {
            if (!isLate) {
                return super.create(name, content);
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            content.writeTo(bytes);
            late.put(name, bytes.toByteArray());
            throw new IOException("failed by the test");
        }

        void storeLate() throws IOException {
            for (Map.Entry<String, byte[]> each : late.entrySet()) {
                super.create(each.getKey(), out -> out.write(each.getValue()));
            }
        }
    }

    // As many runs of one record as are merged.
    private StoredLog publishFan() throws IOException {
        StoredLog plain = new StoredLog(8192, 0);
        for (int i = 0; i < CompactionPlan.FAN; i++) {
            plain.add(new byte[] {(byte) i}, true);
            ArchiveRuns.publish(files, plain, i, i + 1, ArchiveCodec.NONE);
        }
        return plain;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aMergeThatMayBeStoredLateIsRepeatedBeforeAnyOtherOne(boolean isKilled) throws IOException {
        StoredLog plain = publishFan();
        RunName begun = RunMerger.name(runs(files));
        LateFiles store = new LateFiles(files);
        Compaction failed = compaction(store, Duration.ZERO);
        assertThrows(IOException.class, failed::step);
        assertEquals(List.of(begun.file(0)), List.copyOf(store.late.keySet()));
        plain.add(new byte[1], true); // would be merged with the others
        ArchiveRuns.publish(files, plain, plain.end() - 1, plain.end(), ArchiveCodec.NONE);
        store.isLate = false;
        Compaction next = isKilled ? compaction(store, Duration.ofDays(1)) : failed;
        assertTrue(next.step());
        assertEquals(
                List.of(begun),
                runs(files).stream().filter(run -> run.count() > 1).toList());
        store.storeLate();
        while (next.step(true)) {
            // deletes
        }
        assertEquals(List.of(), files.list(ArchiveFiles.TEMPORARY));
        RunList listed = Archive.open(files).runs(0);
        listed.refresh();
        assertEquals(
                plain.end(),
                listed.cover(0, plain.end()).stream().mapToLong(RunName::count).sum());
    }

    @Test
    void aMergeThatWasStoredLateIsNotRepeated() throws IOException {
        publishFan();
        RunName begun = RunMerger.name(runs(files));
        LateFiles store = new LateFiles(files);
        assertThrows(IOException.class, compaction(store, Duration.ZERO)::step);
        store.storeLate();
        store.isLate = false;
        Compaction next = compaction(store, Duration.ZERO);
        while (next.step()) {
            // deletes
        }
        assertEquals(List.of(begun), runs(files));
        assertEquals(List.of(), files.list(ArchiveFiles.TEMPORARY));
    }

    @Test
    void completeBucketsAreNotListedAgain() throws IOException {
        ArchiveRuns.publishAll(files, log, 30, new Random(1), ArchiveCodec.NONE);
        FailingArchive counting = new FailingArchive(files);
        Compaction compaction = compaction(counting, Duration.ZERO);
        while (compaction.step(false)) {
            // until nothing is left to do
        }
        compaction.step(false);
        long before = counting.listings();
        compaction.step(false);
        assertEquals(1, counting.listings() - before);
    }

    @Test
    void theGraceCountsFromTheTimeOfTheLongRun() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        while (compaction(files, Duration.ofSeconds(10)).step(false)) {
            // a process for each step
        }
        assertTrue(runs(files).containsAll(small));
        files.pass(Duration.ofSeconds(10).toMillis());
        while (compaction(files, Duration.ofSeconds(10)).step(false)) {
            // a process for each step
        }
        assertTrue(runs(files).size() < small.size() / 2);
        assertReadable(files);
    }

    @Test
    void spaceGoesBeforeGrace() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        Compaction compaction = compaction(files, Duration.ofDays(1));
        while (compaction.step(false)) {
            // until there is nothing to merge
        }
        assertTrue(runs(files).containsAll(small));
        while (compaction.step(true)) {
            // deletes
        }
        assertTrue(runs(files).size() < small.size() / 2);
        assertReadable(files);
    }

    // A run of another shipper in the middle of a long one, with a gap beside it, so that names alone do not show it.
    private RunName storeForeignRun(StoredLog other, RunName inside) throws IOException {
        long from = inside.first() + 1;
        return ArchiveRuns.publish(files, other, from, from + 2, ArchiveCodec.NONE);
    }

    @Test
    void aRunWithOtherRecordsThanTheLongOneIsNeverDeleted() throws IOException {
        RunName all = ArchiveRuns.publish(files, log, log.first(), log.first() + 20, ArchiveCodec.NONE);
        RunName same = ArchiveRuns.publish(files, log, log.first() + 10, log.first() + 12, ArchiveCodec.NONE);
        RunName other = storeForeignRun(StoredLog.random(new Random(4), RECORDS, 200, log.first()), all);
        Compaction compaction = compaction(files, Duration.ZERO);
        while (compaction.step(true)) {
            // deletes
        }
        assertEquals(List.of(all, other), runs(files));
        assertFalse(runs(files).contains(same));
        files.delete(other.file(0));
        storeForeignRun(log, all);
        while (compaction.step(false)) {
            // deletes
        }
        assertEquals(List.of(all), runs(files));
    }

    @Test
    void runsInADamagedOneAreNeverDeleted() throws IOException {
        List<RunName> small = ArchiveRuns.publishAll(files, log, 3, new Random(1), ArchiveCodec.NONE);
        Compaction compaction = compaction(files, Duration.ofSeconds(10));
        while (compaction.step(false)) {
            // until there is nothing to merge
        }
        for (RunName run : runs(files)) {
            if (!small.contains(run)) {
                byte[] bytes = bytes(run);
                bytes[200] ^= 1; // in the first block
                files.replace(run.file(0), bytes);
            }
        }
        files.pass(Duration.ofSeconds(10).toMillis());
        while (compaction.step(true)) {
            // would delete
        }
        assertTrue(runs(files).containsAll(small));
    }

    private byte[] bytes(RunName run) throws IOException {
        try (ArchiveFiles.Input input = files.open(run.file(0))) {
            byte[] bytes = new byte[(int) input.length()];
            input.readFully(0, bytes, 0, bytes.length);
            return bytes;
        }
    }
}
