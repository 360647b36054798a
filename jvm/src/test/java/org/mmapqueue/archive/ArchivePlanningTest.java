package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.support.MemoryFiles;

/**
 * What planning lists depends on the asked range, not on the number of runs: each test counts the same listings for a
 * partition of 1 000 runs and of 10 000. The last bucket has half as many runs as the others.
 */
class ArchivePlanningTest {
    private static final int RUNS_OF_BUCKET = 100;
    private static final long RECORDS = RunName.BUCKET / RUNS_OF_BUCKET;
    private static final long RECORD_BYTES = 10;

    private final ListedFiles files = new ListedFiles(new MemoryFiles());
    private long end;

    private ArchivePartition partition(int buckets) throws IOException {
        int runs = buckets * RUNS_OF_BUCKET - RUNS_OF_BUCKET / 2;
        for (long i = 0; i < runs; i++) {
            store(i);
        }
        return new ArchivePartition(files, 0, new UUID(1, 1));
    }

    private void store(long number) throws IOException {
        long first = number * RECORDS;
        end = first + RECORDS;
        files.replace(new RunName(first, end, 1, first + 1, end, RECORDS * RECORD_BYTES, 0).file(0), new byte[0]);
    }

    /** The buckets that a call lists, and the number of names in all listings. */
    private void assertLists(List<Long> buckets, Runnable call) {
        files.listed.clear();
        files.names = 0;
        call.run();
        List<String> expected =
                buckets.stream().map(each -> RunName.directory(0, each)).toList();
        assertEquals(expected, files.listed);
        assertTrue(files.names <= (long) buckets.size() * RUNS_OF_BUCKET, files.names + " names");
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void aFirstRefreshListsTheFirstBucketAndTheLast(int buckets) throws IOException {
        ArchivePartition partition = partition(buckets);
        assertLists(List.of(0L, buckets - 1L), partition::refresh);
        assertEquals(0, partition.firstOffset());
        assertEquals(end, partition.endOffset());
        assertLists(List.of(buckets - 1L), partition::refresh);
        store(buckets * (long) RUNS_OF_BUCKET - RUNS_OF_BUCKET / 2);
        assertLists(List.of(buckets - 1L), partition::refresh);
        assertEquals(end, partition.endOffset());
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void aRangeListsItsBuckets(int buckets) throws IOException {
        ArchivePartition partition = partition(buckets);
        partition.refresh();
        long from = 5 * RunName.BUCKET + 7;
        assertLists(
                List.of(5L),
                () -> assertEquals(1, partition.runs(from, from + 1).size()));
        assertLists(
                List.of(),
                () -> assertEquals(10, partition.runs(from, from + 9 * RECORDS).size()));
        long next = from + RunName.BUCKET;
        assertLists(List.of(6L), () -> assertEquals(next, partition.split(from, next, RECORD_BYTES << 20)[10]));
        assertLists(List.of(), () -> assertEquals(List.of(), partition.gaps(from, next)));
        assertLists(List.of(), () -> partition.reader(from, next, false).close());
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void aSizeIsEstimatedByTheFirstBucketAndTheLast(int buckets) throws IOException {
        ArchivePartition partition = partition(buckets);
        partition.refresh();
        assertLists(List.of(), () -> assertEquals(end * RECORD_BYTES, partition.estimatedBytes(0, Long.MAX_VALUE)));
        long from = 3 * RunName.BUCKET - 7;
        assertLists(List.of(2L), () -> assertEquals((end - from) * RECORD_BYTES, partition.estimatedBytes(from, end)));
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void aPartByBytesListsNoBucketAfterIt(int buckets) throws IOException {
        ArchivePartition partition = partition(buckets);
        partition.refresh();
        long from = 3 * RunName.BUCKET + 7;
        assertLists(List.of(3L), () -> assertEquals(from + 20, partition.endWithin(from, end, 20 * RECORD_BYTES + 3)));
        long to = from + 2 * RunName.BUCKET;
        assertLists(
                List.of(4L, 5L), () -> assertEquals(to, partition.endWithin(from, end, (to - from) * RECORD_BYTES)));
        assertLists(List.of(), () -> assertEquals(from + 1, partition.endWithin(from, end, 1)));
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void whatIsForgottenIsListedAgain(int buckets) throws IOException {
        ArchivePartition partition = partition(buckets);
        partition.refresh();
        int all = partition.runs(0, end).size();
        partition.forget(3 * RunName.BUCKET + 1);
        assertLists(
                List.of(),
                () -> assertEquals(
                        all - 3 * RUNS_OF_BUCKET,
                        partition.runs(3 * RunName.BUCKET, end).size()));
        assertLists(
                List.of(0L, 1L, 2L),
                () -> assertEquals(all, partition.runs(0, end).size()));
        assertEquals(0, partition.firstOffset());
    }

    /** Notes the directories below that of runs which are listed, and counts the names. */
    private static final class ListedFiles extends FailingFiles {
        final List<String> listed = new ArrayList<>();
        long names;

        ListedFiles(ArchiveFiles files) {
            super(files);
        }

        @Override
        public List<Entry> list(String directory) throws IOException {
            List<Entry> found = super.list(directory);
            if (directory.startsWith(RunName.directory(0))) {
                listed.add(directory);
                names += found.size();
            }
            return found;
        }
    }
}
