package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.BlockArrays;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.FailingArchive;
import org.mmapqueue.support.MemoryFiles;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StoredLog;

/** Reads as a queue's RecordReader does. */
class ArchiveReaderTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final MemoryFiles memory = new MemoryFiles();

    /** Ten records of ten bytes in two runs. */
    private StoredLog ten() throws IOException {
        StoredLog log = new StoredLog(4096, 0);
        for (int i = 0; i < 10; i++) {
            log.add(new byte[10], true);
        }
        ArchiveRuns.publish(memory, log, 0, 4, ArchiveCodec.NONE);
        ArchiveRuns.publish(memory, log, 4, 10, ArchiveCodec.NONE);
        return log;
    }

    private ArchiveReader reader(StoredLog log, long from, long to) {
        ArchivePartition partition = new ArchivePartition(memory, 0, log.queue);
        partition.refresh();
        return partition.reader(from, to, false);
    }

    private static List<Long> read(ArchiveReader reader, int most, long bytes) {
        List<Long> offsets = new ArrayList<>();
        int count = reader.read(most, bytes, (offset, timestamp, array, start, length, attempts) -> {
            assertEquals(0, attempts);
            offsets.add(offset);
        });
        assertEquals(offsets.size(), count);
        return offsets;
    }

    private static List<Long> offsets(long from, long to) {
        return LongStream.range(from, to).boxed().toList();
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void randomRangesOfRandomRunsAreRead(ArchiveCodec codec) throws IOException {
        LocalFiles files = new LocalFiles(temp);
        Random random = new Random(8);
        StoredLog log = StoredLog.random(random, 2000, 3000, 123);
        ArchiveRuns.publishAll(files, log, 400, random, codec);
        ArchivePartition partition = new ArchivePartition(files, 0, log.queue);
        partition.refresh();
        for (int i = 0; i < 30; i++) {
            long from = log.first() + random.nextInt(2000);
            long to = from + random.nextInt((int) (log.end() - from) + 1);
            try (ArchiveReader reader = partition.reader(from, to, false)) {
                long records = log.records(from, to).stream()
                        .filter(each -> !each.isGap())
                        .count();
                assertEquals(records, ArchiveRuns.assertReads(reader, log, 1 + random.nextInt(100)));
                assertEquals(to, reader.offset());
                assertEquals(from == to ? 0 : partition.runs(from, to).size(), reader.runs());
                assertEquals(0, reader.lost());
            }
        }
    }

    @Test
    void recordsAndBytesAreLimited() throws IOException {
        StoredLog log = ten();
        try (ArchiveReader reader = reader(log, 0, 10)) {
            assertEquals(List.of(0L, 1L, 2L), read(reader, 3, 1000));
            assertEquals(List.of(3L, 4L), read(reader, 9, 29));
            assertEquals(List.of(5L), read(reader, 9, 1)); // larger than the limit
            assertEquals(6, reader.offset());
            assertEquals(offsets(6, 10), read(reader, 100, 1000));
            assertEquals(List.of(), read(reader, 100, 1000));
            assertEquals(2, reader.runs());
            assertThrows(IllegalArgumentException.class, () -> read(reader, 0, 1));
            assertThrows(IllegalArgumentException.class, () -> read(reader, 1, 0));
        }
    }

    @Test
    void aHandlerThatThrowsGetsItsRecordAgain() throws IOException {
        StoredLog log = ten();
        try (ArchiveReader reader = reader(log, 0, 10)) {
            assertThrows(
                    IllegalStateException.class,
                    () -> reader.read(10, 1000, (offset, timestamp, data) -> {
                        if (offset == 5) {
                            throw new IllegalStateException("of the test");
                        }
                    }));
            assertEquals(5, reader.offset());
            assertEquals(offsets(5, 10), read(reader, 100, 1000));
        }
    }

    @Test
    void aSinkKeepsItsArrays() throws IOException {
        StoredLog log = ten();
        List<byte[]> arrays = new ArrayList<>();
        try (ArchiveReader reader = reader(log, 0, 2)) {
            reader.read(2, 100, (offset, timestamp, data) -> arrays.add(data));
        }
        assertEquals(10, arrays.get(0).length);
        assertNotSame(arrays.get(0), arrays.get(1));
    }

    @Test
    void closingEndsReading() throws IOException {
        StoredLog log = ten();
        ArchiveReader reader = reader(log, 0, 10);
        assertEquals(1, reader.read(10, 1000, (offset, timestamp, array, start, length, attempts) -> reader.close()));
        assertThrows(ClosedException.class, () -> read(reader, 1, 1));
        reader.close();
    }

    @Test
    void laterRecordsAreFoundInARangeWithoutEnd() throws IOException {
        StoredLog log = ten();
        try (ArchiveReader reader = reader(log, 8, Long.MAX_VALUE)) {
            assertEquals(List.of(8L, 9L), read(reader, 100, 1000));
            assertEquals(List.of(), read(reader, 100, 1000));
            log.add(new byte[3], true);
            log.addGap(1);
            log.add(new byte[4], true);
            ArchiveRuns.publish(memory, log, 10, 12, ArchiveCodec.NONE);
            ArchiveRuns.publish(memory, log, 12, 13, ArchiveCodec.NONE);
            assertEquals(List.of(10L, 12L), read(reader, 100, 1000));
            assertEquals(13, reader.offset());
        }
    }

    @Test
    void offsetsBeforeTheFirstRunAreOutOfRange() throws IOException {
        StoredLog log = new StoredLog(4096, 100);
        log.add(new byte[1], true);
        ArchiveRuns.publish(memory, log, 100, 101, ArchiveCodec.NONE);
        try (ArchiveReader reader = reader(log, 7, 101)) {
            OutOfRangeException e = assertThrows(OutOfRangeException.class, () -> read(reader, 1, 1));
            assertEquals(7, e.requested());
            assertEquals(100, e.first());
            assertEquals(100, e.last());
        }
        assertThrows(IllegalArgumentException.class, () -> reader(log, -1, 5));
        assertThrows(IllegalArgumentException.class, () -> reader(log, 5, 4));
    }

    @Test
    void aFailingFileSystemIsAnErrorAndTheNextReadContinues() throws IOException {
        StoredLog log = ten();
        FailingArchive failing = new FailingArchive(memory);
        ArchivePartition partition = new ArchivePartition(failing, 0, log.queue);
        partition.refresh();
        try (ArchiveReader reader = partition.reader(0, 10, false)) {
            assertEquals(List.of(0L, 1L), read(reader, 2, 1000));
            failing.failAfter(0, FailingArchive.Failure.BEFORE);
            assertThrows(IOException.class, () -> failing.delete("x"));
            // What was read ahead is delivered first.
            assertEquals(List.of(2L, 3L), read(reader, 100, 1000));
            MmapQueueException e = assertThrows(MmapQueueException.class, () -> read(reader, 100, 1000));
            assertTrue(e.getMessage().contains("record 4 could not be read"), e.getMessage());
            assertThrows(MmapQueueException.class, partition::refresh);
            failing.repair();
            assertEquals(offsets(4, 10), read(reader, 100, 1000));
        }
    }

    @Test
    void namesOfRunsAreEnoughForATask() throws IOException {
        StoredLog log = ten();
        ArchivePartition partition = new ArchivePartition(memory, 0, log.queue);
        partition.refresh();
        List<RunName> runs = partition.runs(2, 7).stream()
                .map(run -> RunName.parse(run.toString()).orElseThrow())
                .toList();
        FailingArchive counting = new FailingArchive(memory);
        try (ArchiveReader reader = ArchiveReader.of(counting, 0, log.queue, runs, 2, 7, false, false)) {
            assertEquals(offsets(2, 7), read(reader, 100, 1000));
        }
        assertEquals(0, counting.listings());
        try (ArchiveReader reader = ArchiveReader.of(counting, 0, log.queue, List.of(), 2, 7, false, false)) {
            assertEquals(offsets(2, 7), read(reader, 100, 1000));
        }
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void recordsStayInTheArraysOfTheCaller(ArchiveCodec codec) throws IOException {
        LocalFiles files = new LocalFiles(temp);
        Random random = new Random(9);
        StoredLog log = StoredLog.random(random, 2000, 3000, 0);
        ArchiveRuns.publishAll(files, log, 400, random, codec);
        BlockArrays always = (last, length) -> new byte[length];
        List<byte[]> arrays = new ArrayList<>();
        List<int[]> places = new ArrayList<>();
        try (ArchiveReader reader =
                ArchiveReader.into(always, files, 0, log.queue, log.first(), log.end(), false, false)) {
            while (!reader.isAtEnd()) {
                byte[][] one = new byte[1][];
                reader.readTogether((offset, timestamp, array, start, length, attempts) -> {
                    assertTrue(one[0] == null || one[0] == array, "records of two arrays at " + offset);
                    one[0] = array;
                    arrays.add(array);
                    places.add(new int[] {start, length});
                });
            }
        }
        try (ArchiveReader reader =
                ArchiveReader.of(files, 0, log.queue, List.of(), log.first(), log.end(), false, false)) {
            for (int i = 0; i < arrays.size(); i++) {
                int at = i;
                reader.read(1, Long.MAX_VALUE, (offset, timestamp, array, start, length, attempts) -> {
                    int[] place = places.get(at);
                    assertTrue(
                            Arrays.equals(array, start, start + length, arrays.get(at), place[0], place[0] + place[1]),
                            "record " + offset);
                });
            }
            assertEquals(0, reader.read(1, Long.MAX_VALUE, (o, t, array, start, length, attempts) -> {}));
            assertTrue(arrays.size() > 1000);
        }
    }
}
