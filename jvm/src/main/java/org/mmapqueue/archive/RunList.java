package org.mmapqueue.archive;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;

/**
 * The runs of one partition, as listed last. A bucket is listed when a run of it is first needed. {@link #refresh} is
 * mostly one listing, because new runs are added at the end. Not thread-safe.
 *
 * <p>Runs of the list may have been replaced by longer ones, or deleted, since: {@link #relist} finds the runs that
 * hold their records now.
 */
public final class RunList {
    /** Every refresh of this number lists the directory of buckets again, to find what retention has deleted. */
    private static final int FULL_REFRESH = 100;

    private final ArchiveFiles files;
    private final int partition;

    /** The buckets that exist, by number; null for those that are not listed yet. */
    private TreeMap<Long, @Nullable BucketRuns> buckets = new TreeMap<>();

    private int refreshes;
    private long first;
    private long end;

    RunList(ArchiveFiles files, int partition) {
        this.files = files;
        this.partition = partition;
    }

    /**
     * Lists new runs.
     *
     * @throws ArchiveException if runs overlap without nesting, or leave a gap
     */
    public void refresh() throws IOException {
        if (end == 0 || ++refreshes % FULL_REFRESH == 0) {
            relist();
            return;
        }
        try {
            advance();
        } catch (ArchiveException e) {
            relist(); // runs may have been replaced during the listing
        }
    }

    // The next run begins at the end of the last one.
    private void advance() throws IOException {
        long bucket = RunName.bucketOf(end);
        while (true) {
            BucketRuns listed = BucketRuns.list(files, partition, bucket);
            if (listed.isEmpty()) {
                return;
            }
            List<RunName> cover = listed.cover();
            if (cover.get(0).first() > end || hasGap(cover)) {
                relist();
                return;
            }
            buckets.put(bucket, listed);
            if (buckets.firstKey() == bucket) {
                first = cover.get(0).first();
            }
            end = Math.max(end, cover.get(cover.size() - 1).end());
            if (RunName.bucketOf(end) == bucket) {
                return;
            }
            bucket = RunName.bucketOf(end);
        }
    }

    private static boolean hasGap(List<RunName> cover) {
        for (int i = 1; i < cover.size(); i++) {
            if (cover.get(i).first() > cover.get(i - 1).end()) {
                return true;
            }
        }
        return false;
    }

    /** Discards what was listed, and lists again. */
    public void relist() throws IOException {
        try {
            listAgain();
        } catch (ArchiveException e) {
            listAgain(); // runs may have been replaced during the listing
        }
    }

    private void listAgain() throws IOException {
        TreeMap<Long, @Nullable BucketRuns> found = new TreeMap<>();
        for (String name : files.directories(RunName.directory(partition))) {
            if (name.matches("[0-9]{12}")) {
                found.put(Long.parseLong(name), null);
            }
        }
        buckets = found;
        first = 0;
        end = 0;
        while (!buckets.isEmpty() && bucket(buckets.firstKey()).isEmpty()) {
            buckets.pollFirstEntry();
        }
        while (!buckets.isEmpty() && bucket(buckets.lastKey()).isEmpty()) {
            buckets.pollLastEntry();
        }
        if (!buckets.isEmpty()) {
            first = bucket(buckets.firstKey()).cover().get(0).first();
            for (RunName run : bucket(buckets.lastKey()).cover()) {
                end = Math.max(end, run.end());
            }
        }
    }

    /** The runs of a bucket, as listed last. */
    BucketRuns bucket(long number) throws IOException {
        BucketRuns listed = buckets.get(number);
        if (listed == null) {
            listed = BucketRuns.list(files, partition, number);
            buckets.put(number, listed);
        }
        return listed;
    }

    /** The offset of the first record, as of the last full listing; {@link #endOffset} if no record exists. */
    public long firstOffset() {
        return first;
    }

    /** The offset after the last record; 0 if no record exists. */
    public long endOffset() {
        return end;
    }

    /**
     * Returns the runs to read for a range, in order: those that are not nested in another one.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the runs that hold records of the range; none outside of {@link #firstOffset} to {@link #endOffset}
     * @throws ArchiveException if runs overlap without nesting, or leave a gap in the range
     */
    public List<RunName> cover(long from, long to) throws IOException {
        try {
            return coverAsListed(from, to);
        } catch (ArchiveException e) {
            relist(); // runs may have been replaced between the listings of two buckets
            return coverAsListed(from, to);
        }
    }

    private List<RunName> coverAsListed(long from, long to) throws IOException {
        List<RunName> runs = new ArrayList<>();
        long low = Math.max(from, first);
        long high = Math.min(to, end);
        if (low >= high) {
            return runs;
        }
        RunName last = null;
        for (long number : buckets.tailMap(bucketOfRunAt(low), true).keySet()) {
            if (last != null && last.end() >= high) {
                break;
            }
            for (RunName run : bucket(number).cover()) {
                if (last != null && run.end() <= last.end()) {
                    continue; // nested in a run of the previous bucket
                }
                if (last != null && run.first() < last.end()) {
                    throw RunNesting.conflict(last, run, "overlap, and neither is in the other");
                }
                if (last != null && run.first() > Math.max(last.end(), low) && last.end() < high) {
                    throw gap(last, run); // the range touches it
                }
                last = run;
                if (run.first() < high && run.end() > low) {
                    runs.add(run);
                }
            }
        }
        if (runs.isEmpty()
                || runs.get(0).first() > low
                || runs.get(runs.size() - 1).end() < high) {
            throw new ArchiveException(files.uri() + RunName.directory(partition) + ": no run holds all records from "
                    + low + " to " + (high - 1) + "; found " + runs);
        }
        return runs;
    }

    // The bucket of the run that holds a record, which may continue beyond its bucket.
    private long bucketOfRunAt(long offset) throws IOException {
        Long number = buckets.floorKey(RunName.bucketOf(offset));
        while (number != null) {
            List<RunName> cover = bucket(number).cover();
            Long before = buckets.lowerKey(number);
            if (before == null || !cover.isEmpty() && cover.get(0).first() <= offset) {
                return number;
            }
            number = before;
        }
        return buckets.firstKey();
    }

    private ArchiveException gap(RunName last, RunName next) {
        return new ArchiveException(files.uri() + RunName.directory(partition) + ": records " + last.end() + " to "
                + (next.first() - 1) + " are missing between the runs " + last + " and " + next);
    }

    /** The buckets that exist, listed or not. */
    NavigableSet<Long> bucketNumbers() {
        return Collections.unmodifiableNavigableSet(buckets.navigableKeySet());
    }

    /** Lists a bucket again. */
    BucketRuns listBucket(long number) throws IOException {
        BucketRuns listed = BucketRuns.list(files, partition, number);
        buckets.put(number, listed);
        return listed;
    }

    /** All runs, by first offset, then the longest first; lists every bucket. */
    public List<RunName> all() throws IOException {
        List<RunName> runs = new ArrayList<>();
        for (long number : buckets.keySet()) {
            runs.addAll(bucket(number).all());
        }
        return runs;
    }

    /** The runs that are not nested in another one of their bucket, by first offset; gaps between them are no error. */
    public List<RunName> longest() throws IOException {
        List<RunName> runs = new ArrayList<>();
        for (long number : buckets.keySet()) {
            runs.addAll(bucket(number).cover());
        }
        return runs;
    }

    /** The first offset of the first run that holds a record of this time or later, as the runs' names say. */
    public OptionalLong firstRunAtOrAfter(long micros) throws IOException {
        for (Map.Entry<Long, BucketRuns> each : buckets.entrySet()) {
            for (RunName run : bucket(each.getKey()).cover()) {
                if (run.maxMicros() >= micros && run.maxMicros() > 0) {
                    return OptionalLong.of(run.first());
                }
            }
        }
        return OptionalLong.empty();
    }
}
