package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.FailingArchive;
import org.mmapqueue.support.MemoryFiles;
import org.mmapqueue.support.StoredLog;

class ArchivePartitionTest {
    private final MemoryFiles files = new MemoryFiles();

    private ArchivePartition partition(StoredLog log) {
        ArchivePartition partition = new ArchivePartition(files, 0, log.queue);
        partition.refresh();
        return partition;
    }

    @Test
    void timesAreFoundAsInTheLog() throws IOException {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            files.names().forEach(files::delete);
            StoredLog log = StoredLog.random(random, 300, 2000, seed * 100L);
            ArchiveRuns.publishAll(files, log, 60, random, ArchiveCodec.NONE);
            ArchivePartition partition = partition(log);
            List<StoredRecord> records = log.records(log.first(), log.end()).stream()
                    .filter(record -> !record.isGap())
                    .toList();
            for (int i = 0; i < 30; i++) {
                StoredRecord near = records.get(random.nextInt(records.size()));
                long micros = Math.max(1, near.timestampMicros() + random.nextInt(3) - 1);
                OptionalLong expected = records.stream()
                        .filter(record -> record.timestampMicros() >= micros)
                        .mapToLong(StoredRecord::offset)
                        .findFirst();
                Instant time = Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
                assertEquals(expected, partition.find(time));
                assertEquals(expected, partition.find(time.minusNanos(999)));
                assertEquals(near.timestampMicros(), partition.timestampMicros(near.offset()));
            }
            assertEquals(OptionalLong.empty(), partition.find(Instant.now().plusSeconds(1_000_000_000)));
        }
    }

    @Test
    void timesBeyondTheRangeOfNanosecondsAreFound() throws IOException {
        StoredLog log = new StoredLog(4096, 7);
        log.add(new byte[1], true);
        ArchiveRuns.publish(files, log, 7, 8, ArchiveCodec.NONE);
        for (Instant late : List.of(Instant.parse("2300-01-01T00:00:00Z"), Instant.MAX)) {
            assertEquals(OptionalLong.empty(), partition(log).find(late));
        }
        for (Instant early : List.of(Instant.parse("1600-01-01T00:00:00Z"), Instant.MIN)) {
            assertEquals(OptionalLong.of(7), partition(log).find(early));
        }
    }

    @Test
    void recordsWithoutTimestampsAreNotFound() throws IOException {
        StoredLog log = new StoredLog(4096, 0);
        log.add(new byte[1], false);
        ArchiveRuns.publish(files, log, 0, 1, ArchiveCodec.NONE);
        assertEquals(OptionalLong.empty(), partition(log).find(Instant.EPOCH));
        assertEquals(0, partition(log).timestampMicros(0));
    }

    @Test
    void partsBeginWithRunsAndAreOfAboutTheSameSize() throws IOException {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            files.names().forEach(files::delete);
            StoredLog log = StoredLog.random(random, 1000, 300, 0);
            ArchiveRuns.publishAll(files, log, 1 + random.nextInt(200), random, ArchiveCodec.NONE);
            ArchivePartition partition = partition(log);
            long from = random.nextInt(300);
            long to = 700L + random.nextInt(300);
            long bytes = 1000L + random.nextInt(30_000);
            long[] starts = partition.split(from, to, bytes);
            assertEquals(from, starts[0]);
            assertEquals(to, starts[starts.length - 1]);
            assertArrayEquals(LongStream.of(starts).sorted().distinct().toArray(), starts);
            long sum = 0;
            for (int i = 1; i < starts.length; i++) {
                long size = partition.bytes(starts[i - 1], starts[i]);
                assertTrue(size <= 2 * bytes + 1000, size + " bytes; asked for " + bytes);
                sum += size;
            }
            assertTrue(Math.abs(sum - partition.bytes(from, to)) < 1000);
        }
    }

    @Test
    void anEmptyRangeIsOnePart() throws IOException {
        StoredLog log = new StoredLog(4096, 0);
        log.add(new byte[1], true);
        ArchiveRuns.publish(files, log, 0, 1, ArchiveCodec.NONE);
        ArchivePartition partition = partition(log);
        assertArrayEquals(new long[] {1, 1}, partition.split(1, 1, 100));
        assertEquals(0, partition.bytes(1, 1));
        assertEquals(24, partition.bytes(0, 1));
        assertThrows(IllegalArgumentException.class, () -> partition.split(0, 1, 0));
        assertThrows(IllegalArgumentException.class, () -> partition.split(1, 0, 1));
        assertThrows(OutOfRangeException.class, () -> partition.timestampMicros(1));
        assertEquals(List.of(), partition.hosts(0, 1));
    }

    @Test
    void anArchiveWithoutRunsIsEmpty() {
        StoredLog log = new StoredLog(4096, 0);
        ArchivePartition partition = partition(log);
        assertEquals(0, partition.firstOffset());
        assertEquals(0, partition.endOffset());
        assertEquals(List.of(), partition.runs(0, 100));
        assertEquals(OptionalLong.empty(), partition.find(Instant.EPOCH));
    }

    @Test
    void aRefreshIsOneListing() throws IOException {
        StoredLog log = StoredLog.random(new Random(1), 400, 10, RunName.BUCKET - 100);
        FailingArchive counting = new FailingArchive(files);
        ArchivePartition partition = new ArchivePartition(counting, 0, log.queue);
        ArchiveRuns.publish(files, log, log.first(), log.first() + 1, ArchiveCodec.NONE);
        partition.refresh();
        long before = counting.listings();
        for (int i = 1; i < 50; i++) {
            ArchiveRuns.publish(files, log, log.first() + i, log.first() + i + 1, ArchiveCodec.NONE);
            partition.refresh();
            assertEquals(log.first() + i + 1, partition.endOffset());
        }
        assertEquals(49, counting.listings() - before);
        // A bucket that is not asked for is not listed.
        for (int i = 50; i < 400; i++) {
            ArchiveRuns.publish(files, log, log.first() + i, log.first() + i + 1, ArchiveCodec.NONE);
        }
        ArchivePartition late = new ArchivePartition(counting, 0, log.queue);
        before = counting.listings();
        late.refresh();
        assertEquals(400, late.runs(0, Long.MAX_VALUE).size());
        assertEquals(5, counting.listings() - before); // claims, and again, since no claim tells of the epoch of a run
    }
}
