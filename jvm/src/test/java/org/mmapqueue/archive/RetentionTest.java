package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.FailingArchive;
import org.mmapqueue.support.MemoryFiles;
import org.mmapqueue.support.StoredLog;

class RetentionTest {
    private static final int RUNS = 20;
    private static final int PER_RUN = 5;

    private final MemoryFiles files = new MemoryFiles();
    private final StoredLog log = new StoredLog(4096, RunName.BUCKET - 50);
    private Instant now = Instant.EPOCH;
    /** A monotonic clock. */
    private long nanos;

    private Archive archive;
    /** What a consumer of the queue itself has passed. */
    private long consumed = Long.MAX_VALUE;
    /** The age from which that does not count. */
    private Duration abandon = Duration.ZERO;

    @BeforeEach
    void publish() throws IOException {
        archive = Archive.create(files);
        archive.register(log.queue, 0, "a");
        for (int i = 0; i < RUNS * PER_RUN; i++) {
            log.add(new byte[10], true);
        }
        for (int i = 0; i < RUNS; i++) {
            long from = log.first() + (long) i * PER_RUN;
            ArchiveRuns.publish(files, log, from, from + PER_RUN, ArchiveCodec.NONE);
        }
        now = Instant.EPOCH.plusNanos(1000 * log.record(log.end() - 1).timestampMicros());
    }

    private Retention retention(Archive of, Duration retain) throws IOException {
        return new Retention(of, of.partitions().get(0), retain, abandon, () -> consumed, () -> now, () -> nanos);
    }

    private long firstOffset() throws IOException {
        RunList runs = archive.runs(0);
        runs.refresh();
        assertEquals(log.end(), runs.endOffset());
        assertEquals(
                runs.endOffset() - runs.firstOffset(),
                runs.cover(0, Long.MAX_VALUE).stream().mapToLong(RunName::count).sum());
        return runs.firstOffset();
    }

    @Test
    void oldRunsAreDeletedAndTheLastOneStays() throws IOException {
        // Records are one millisecond apart. A run is as old as its newest record.
        assertEquals(0, retention(archive, Duration.ofSeconds(1)).step());
        assertEquals(
                10 * PER_RUN,
                retention(archive, Duration.ofMillis(10 * PER_RUN - 1)).step());
        assertEquals(log.first() + 10 * PER_RUN, firstOffset());
        now = now.plusSeconds(3600);
        assertEquals(0, retention(archive, Duration.ofDays(400 * 366)).step());
        assertEquals(9 * PER_RUN, retention(archive, Duration.ZERO).step());
        assertEquals(log.end() - PER_RUN, firstOffset());
        assertEquals(0, retention(archive, Duration.ZERO).step());
    }

    @Test
    void whatAConsumerHasNotCommittedStays() throws IOException {
        now = now.plusSeconds(3600);
        archive.commit("fast", "", Map.of(0, log.end()));
        archive.commit("slow", "", Map.of(0, log.first() + 2 * PER_RUN + 1));
        assertEquals(2 * PER_RUN, retention(archive, Duration.ZERO).step());
        archive.commit("other", "", Map.of(1, 5L));
        archive.commit("slow", "", Map.of(0, log.end()));
        assertEquals(0, retention(archive, Duration.ZERO).step());
        archive.deleteConsumer("other");
        assertEquals(17 * PER_RUN, retention(archive, Duration.ZERO).step());
    }

    @Test
    void whatAConsumerOfTheQueueItselfNeedsStays() throws IOException {
        now = now.plusSeconds(3600);
        consumed = log.first() + 3 * PER_RUN + 2;
        assertEquals(3 * PER_RUN, retention(archive, Duration.ZERO).step());
        assertEquals(log.first() + 3 * PER_RUN, firstOffset());
        consumed = log.end();
        assertEquals(16 * PER_RUN, retention(archive, Duration.ZERO).step());
    }

    @Test
    void whatAConsumerOfTheQueueItselfNeedsIsAbandonedAtAnAge() throws IOException {
        consumed = log.first() + 3 * PER_RUN + 2;
        abandon = Duration.ofMillis(10 * PER_RUN - 1);
        assertEquals(10 * PER_RUN, retention(archive, Duration.ZERO).step());
        assertEquals(0, retention(archive, Duration.ZERO).step());
        archive.commit("spark", "", Map.of(0, log.first() + 12 * PER_RUN));
        now = now.plusSeconds(3600);
        assertEquals(0, retention(archive, Duration.ofDays(1)).step());
        assertEquals(2 * PER_RUN, retention(archive, Duration.ZERO).step(), "a consumer of the archive keeps the rest");
    }

    // Time passes by both clocks.
    private void pass(Duration time) {
        now = now.plus(time);
        nanos += time.toNanos();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aClockThatIsSetAheadDeletesNothingEarly(boolean isAbandoned) throws IOException {
        Duration age = Duration.ofHours(1);
        abandon = isAbandoned ? age : Duration.ZERO;
        consumed = isAbandoned ? log.first() : Long.MAX_VALUE;
        Retention retention = retention(archive, isAbandoned ? Duration.ZERO : age);
        now = now.plus(Duration.ofDays(1));
        assertEquals(0, retention.step());
        pass(Duration.ofMinutes(59));
        assertEquals(0, retention.step());
        pass(Duration.ofMinutes(1));
        assertEquals((RUNS - 1) * PER_RUN, retention.step());
    }

    @Test
    void aClockThatIsSetAheadForAWhileCountsWithItsTimestampsAfterwards() throws IOException {
        Duration age = Duration.ofHours(1);
        AgeCutOff cutOff = new AgeCutOff(age, () -> now, () -> nanos);
        Instant begin = now;
        now = now.plus(Duration.ofDays(1));
        assertEquals(begin.minus(age), cutOff.time());
        pass(Duration.ofMinutes(30));
        now = now.plus(Duration.ofDays(1)); // once more: the hour begins anew
        assertEquals(begin.minus(age).plus(Duration.ofMinutes(30)), cutOff.time());
        pass(Duration.ofMinutes(59));
        assertEquals(begin.plus(Duration.ofMinutes(29)), cutOff.time());
        pass(Duration.ofMinutes(1));
        assertEquals(now.minus(age), cutOff.time());
        pass(Duration.ofMinutes(1));
        assertEquals(now.minus(age), cutOff.time());
    }

    @Test
    void aClockThatIsSetBackDeletesLater() throws IOException {
        Retention retention = retention(archive, Duration.ofHours(1));
        now = now.minus(Duration.ofDays(1));
        pass(Duration.ofHours(24));
        assertEquals(0, retention.step());
        pass(Duration.ofHours(2));
        assertEquals((RUNS - 1) * PER_RUN, retention.step());
    }

    @Test
    void recordsWithoutTimestampsAreAsOldAsTheirRun() throws IOException {
        MemoryFiles plain = new MemoryFiles();
        Archive of = Archive.create(plain);
        of.register(log.queue, 0, "a");
        StoredLog unstamped = new StoredLog(4096, 0);
        for (int i = 0; i < 10; i++) {
            unstamped.add(new byte[10], false);
        }
        for (int i = 0; i < 10; i++) {
            plain.nowMillis = 1_000_000L + i;
            ArchiveRuns.publish(plain, unstamped, i, i + 1, ArchiveCodec.NONE);
        }
        now = Instant.ofEpochMilli(1_000_009);
        assertEquals(4, retention(of, Duration.ofMillis(5)).step());
    }

    @Test
    void aReaderOfDeletedRecordsIsOutOfRange() throws IOException {
        ArchivePartition partition = archive.partition(archive.partitions().get(0));
        partition.refresh();
        try (ArchiveReader reader = partition.reader(log.first(), log.end(), false)) {
            now = now.plusSeconds(3600);
            retention(archive, Duration.ZERO).step();
            OutOfRangeException e =
                    assertThrows(OutOfRangeException.class, () -> reader.read(1, 1, (offset, timestamp, data) -> {}));
            assertEquals(log.first(), e.requested());
            assertEquals(log.end() - PER_RUN, e.first());
            assertEquals(log.end() - 1, e.last());
            assertEquals(log.first(), reader.offset());
        }
        partition.refresh();
    }

    @ParameterizedTest
    @EnumSource(FailingArchive.Failure.class)
    void aKillAtAnyChangeLeavesNoGap(FailingArchive.Failure how) throws IOException {
        // Replaced runs lie in longer ones, also while these are deleted.
        RunList listed = archive.runs(0);
        listed.refresh();
        List<RunName> small = listed.cover(0, Long.MAX_VALUE);
        RunMerger.merge(files, 0, log.queue, small.subList(0, 4), ArchiveCodec.NONE, () -> false, () -> {});
        RunMerger.merge(files, 0, log.queue, small.subList(4, 8), ArchiveCodec.NONE, () -> false, () -> {});
        RunMerger.merge(files, 0, log.queue, small.subList(11, 15), ArchiveCodec.NONE, () -> false, () -> {});
        now = now.plusSeconds(3600);
        for (int step = 0; ; step++) {
            MemoryFiles copy = new MemoryFiles(files);
            FailingArchive failing = new FailingArchive(copy);
            archive = Archive.open(copy);
            failing.failAfter(step, how);
            try {
                retention(Archive.open(failing), Duration.ZERO).step();
                assertTrue(step > RUNS);
                return;
            } catch (IOException e) {
                assertTrue(firstOffset() >= log.first());
            }
            retention(archive, Duration.ZERO).step();
            assertEquals(log.end() - PER_RUN, firstOffset());
            assertEquals(
                    1,
                    copy.names().stream().filter(name -> name.endsWith(".run")).count());
            assertEquals(List.of(), copy.list(ArchiveFiles.TEMPORARY));
        }
    }

    @Test
    void aGapIsDeletedAfterTheRunsBeforeIt() throws IOException {
        RunList listed = archive.runs(0);
        listed.refresh();
        RunName lost = listed.cover(0, Long.MAX_VALUE).get(1);
        files.delete(lost.file(0));
        GapName gap = new GapName(lost.first(), lost.end(), 1, GapName.Reason.LOST);
        files.replace(gap.file(0), new byte[0]);
        now = now.plusSeconds(3600);
        assertEquals(18 * PER_RUN, retention(archive, Duration.ZERO).step());
        assertEquals(log.end() - PER_RUN, firstOffset());
        retention(archive, Duration.ZERO).step();
        assertEquals(
                List.of(),
                files.names().stream().filter(name -> name.endsWith(".gap")).toList());
    }

    @Test
    void theLastRunStaysIfAGapFollowsIt() throws IOException {
        GapName gap = new GapName(log.end(), log.end() + RunName.BUCKET, 1, GapName.Reason.DROPPED);
        files.replace(gap.file(0), new byte[0]);
        now = now.plusSeconds(3600);
        assertEquals((RUNS - 1) * PER_RUN, retention(archive, Duration.ZERO).step());
        assertEquals(0, retention(archive, Duration.ZERO).step());
        RunList runs = archive.runs(0);
        runs.refresh();
        assertEquals(log.end() - PER_RUN, runs.firstOffset());
        assertEquals(gap.end(), runs.endOffset());
    }

    @Test
    void aNegativeTimeIsAnError() {
        assertThrows(IllegalArgumentException.class, () -> retention(archive, Duration.ofSeconds(-1)));
    }
}
