package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.FailingArchive;
import org.mmapqueue.support.MemoryFiles;
import org.mmapqueue.support.StoredLog;

/** Records that no run has: a reader stops at them, or continues after them. */
class GapTest {
    private static final int PER_RUN = 5;
    private static final long END = 8 * PER_RUN;

    private final MemoryFiles files = new MemoryFiles();
    private final StoredLog log = new StoredLog(4096, 0);
    private Archive archive;

    @BeforeEach
    void ship() throws IOException {
        archive = Archive.create(files);
        archive.register(log.queue, 0, "a");
        for (int i = 0; i < END; i++) {
            log.add(new byte[10], true);
        }
        for (long from = 0; from < END; from += PER_RUN) {
            ArchiveRuns.publish(files, log, from, from + PER_RUN, ArchiveCodec.NONE);
        }
    }

    private void delete(long first) {
        String name = files.names().stream()
                .filter(each -> each.contains(String.format("/%019d-", first)))
                .findFirst()
                .orElseThrow();
        assertTrue(files.delete(name));
    }

    private ArchivePartition partition() throws IOException {
        ArchivePartition partition = archive.partition(archive.partitions().get(0));
        partition.refresh();
        return partition;
    }

    private static List<Long> read(ArchiveReader reader) {
        List<Long> offsets = new ArrayList<>();
        while (reader.read(7, 1000, (offset, timestamp, data) -> offsets.add(offset)) > 0) {
            // to the end
        }
        return offsets;
    }

    private static List<Long> offsets(long from, long to) {
        List<Long> offsets = new ArrayList<>();
        for (long offset = from; offset < to; offset++) {
            offsets.add(offset);
        }
        return offsets;
    }

    @Test
    void theRecordsBeforeAGapAreRead() throws IOException {
        delete(2 * PER_RUN);
        List<Long> seen = new ArrayList<>();
        try (ArchiveReader reader = partition().reader(0, END, false)) {
            ArchiveException e = assertThrows(ArchiveException.class, () -> {
                while (reader.read(7, 1000, (offset, timestamp, data) -> seen.add(offset)) > 0) {
                    // to the gap
                }
            });
            assertEquals(
                    "memory:/data/00000: records 10 to 14 are missing: their files have vanished from the archive, and"
                            + " nobody has marked the records as lost",
                    e.getMessage());
            assertEquals(15, e.missingTo());
            assertEquals(offsets(0, 10), seen);
            assertEquals(10, reader.offset());
        }
        try (ArchiveReader reader = partition().reader(15, END, false)) {
            assertEquals(offsets(15, END), read(reader));
        }
    }

    @Test
    void aReaderContinuesAfterGaps() throws IOException {
        delete(2 * PER_RUN);
        delete(3 * PER_RUN);
        delete(5 * PER_RUN);
        for (long to : new long[] {END, Long.MAX_VALUE, 27, 28, 20, 12}) {
            try (ArchiveReader reader = partition().reader(3, to, false, true)) {
                List<Long> expected = offsets(3, 10);
                expected.addAll(offsets(20, Math.min(to, 25)));
                expected.addAll(offsets(30, Math.min(to, END)));
                assertEquals(expected, read(reader));
                assertEquals(Math.min(to, END), reader.offset());
                assertEquals(Math.min(to, END) - 3 - expected.size(), reader.missing());
            }
        }
    }

    @Test
    void aRunThatVanishesAfterThePlanIsAGap() throws IOException {
        List<RunName> planned = partition().runs(0, END);
        delete(2 * PER_RUN);
        try (ArchiveReader reader = ArchiveReader.of(files, 0, log.queue, planned, 8, 18, false, true)) {
            assertEquals(List.of(8L, 9L, 15L, 16L, 17L), read(reader));
            assertEquals(5, reader.missing());
        }
    }

    @Test
    void aGapHasANameOnceItIsMarked() throws IOException {
        delete(2 * PER_RUN);
        delete(3 * PER_RUN);
        assertEquals(List.of(new Gap(10, 20, Optional.empty())), archive.markLost(0, 0, Long.MAX_VALUE));
        assertEquals(List.of(), archive.markLost(0, 0, Long.MAX_VALUE));
        ArchivePartition partition = partition();
        assertEquals(List.of(new Gap(10, 20, Optional.of(GapName.Reason.LOST))), partition.gaps(0, END));
        assertEquals(List.of(new Gap(12, 14, Optional.of(GapName.Reason.LOST))), partition.gaps(12, 14));
        try (ArchiveReader reader = partition.reader(10, END, false)) {
            String text =
                    assertThrows(ArchiveException.class, () -> read(reader)).getMessage();
            assertTrue(text.endsWith("records 10 to 19 are missing: they were marked as lost"), text);
        }
        // A file that comes back is read nevertheless.
        ArchiveRuns.publish(files, log, 10, 15, ArchiveCodec.NONE);
        assertEquals(
                List.of(new Gap(15, 20, Optional.of(GapName.Reason.LOST))),
                partition().gaps(0, END));
        try (ArchiveReader reader = partition().reader(8, 17, false, true)) {
            assertEquals(offsets(8, 15), read(reader));
        }
    }

    @Test
    void onlyTheRangeIsMarked() throws IOException {
        delete(2 * PER_RUN);
        delete(4 * PER_RUN);
        assertEquals(List.of(new Gap(12, 15, Optional.empty())), archive.markLost(0, 12, 20));
        assertEquals(
                List.of(
                        new Gap(10, 12, Optional.empty()),
                        new Gap(12, 15, Optional.of(GapName.Reason.LOST)),
                        new Gap(20, 25, Optional.empty())),
                partition().gaps(0, END));
        assertThrows(IllegalArgumentException.class, () -> archive.markLost(0, 5, 5));
        String text = assertThrows(ArchiveException.class, () -> archive.markLost(3, 0, 5))
                .getMessage();
        assertTrue(text.contains("no partition 3"), text);
    }

    @Test
    void methodsOfAPartitionWorkBesideGaps() throws IOException {
        delete(2 * PER_RUN);
        ArchivePartition partition = partition();
        assertEquals(7, partition.runs(0, END).size());
        assertTrue(partition.bytes(0, END) > partition.bytes(15, END));
        assertArrayEquals(new long[] {0, END}, partition.split(0, END, 1 << 20));
        long[] parts = partition.split(0, END, 1);
        assertEquals(END, parts[parts.length - 1]);
        long time = partition.timestampMicros(15);
        assertEquals(15, partition.find(Instant.ofEpochSecond(0, 1000 * time)).orElseThrow());
        assertThrows(ArchiveException.class, () -> partition.timestampMicros(12));
    }

    @Test
    void aGapCostsNoListingAtEachRefresh() throws IOException {
        delete(2 * PER_RUN);
        FailingArchive counting = new FailingArchive(files);
        ArchivePartition partition =
                Archive.open(counting).partition(archive.partitions().get(0));
        partition.refresh();
        assertEquals(7, partition.runs(0, END).size());
        partition.refresh();
        long before = counting.listings();
        for (int i = 0; i < 10; i++) {
            partition.refresh();
            assertEquals(1, partition.gaps(0, END).size());
        }
        assertEquals(10, counting.listings() - before);
    }

    /** Files of which one listing of a bucket shows neither a replaced run nor the one that replaces it. */
    private static final class ChangingFiles extends FailingFiles {
        private final int number;
        private final String first;
        private int listings;

        ChangingFiles(MemoryFiles files, int number, long first) {
            super(files);
            this.number = number;
            this.first = String.format("%019d-", first);
        }

        @Override
        public List<Entry> list(String directory) throws IOException {
            List<Entry> found = super.list(directory);
            if (!directory.equals(RunName.directory(0, 0)) || ++listings != number) {
                return found;
            }
            return found.stream().filter(each -> !each.name().startsWith(first)).toList();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 101}) // the first listing, one of a refresh, and one of a refresh that lists all
    void aHoleThatOneListingShowsIsNoGap(int number) throws IOException {
        ChangingFiles changing = new ChangingFiles(files, number, 2 * PER_RUN);
        ArchivePartition partition =
                Archive.open(changing).partition(archive.partitions().get(0));
        while (changing.listings <= number) {
            partition.refresh();
            assertEquals(List.of(), partition.gaps(0, END));
            assertEquals(8, partition.runs(0, END).size());
        }
    }

    @Test
    void recordsAreDeletedOnlyIfASecondListingShowsIt() throws IOException {
        ChangingFiles changing = new ChangingFiles(files, 1, 0);
        try (ArchiveReader reader = ArchiveReader.of(changing, 0, log.queue, List.of(), 0, END, false, false)) {
            assertEquals(offsets(0, END), read(reader));
        }
    }

    @Test
    void aGapMayCrossBuckets() throws IOException {
        long far = 3 * RunName.BUCKET + 7;
        StoredLog later = new StoredLog(4096, far);
        later.add(new byte[10], true);
        GapName gap = new GapName(END, far, 1, GapName.Reason.DROPPED);
        ArchivePartition partition = partition();
        files.replace(gap.file(0), new byte[0]);
        partition.refresh();
        assertEquals(far, partition.endOffset());
        ArchiveRuns.publish(files, later, far, far + 1, ArchiveCodec.NONE);
        for (ArchivePartition each : List.of(partition, partition())) {
            each.refresh();
            assertEquals(far + 1, each.endOffset());
            assertEquals(List.of(new Gap(END, far, Optional.of(GapName.Reason.DROPPED))), each.gaps(0, far + 1));
            assertEquals(
                    List.of(new Gap(far - 2, far, Optional.of(GapName.Reason.DROPPED))), each.gaps(far - 2, far + 1));
            try (ArchiveReader reader = each.reader(END - 1, Long.MAX_VALUE, false, true)) {
                assertEquals(List.of(END - 1, far), read(reader));
            }
        }
    }

    @Test
    void namesOfGapsAreParsed() {
        GapName gap = new GapName(5, 9, 3, GapName.Reason.DROPPED);
        assertEquals("0000000000000000005-0000000000000000009-3-dropped.gap", gap.toString());
        assertEquals(Optional.of(gap), GapName.parse(gap.toString()));
        for (String wrong : List.of(
                "0000000000000000009-0000000000000000005-3-dropped.gap",
                "0000000000000000005-0000000000000000009-3-gone.gap",
                "0000000000000000005-0000000000000000009-03-lost.gap",
                "5-9-3-lost.gap",
                "9999999999999999999-9999999999999999999-3-lost.gap")) {
            assertEquals(Optional.empty(), GapName.parse(wrong), wrong);
        }
    }
}
