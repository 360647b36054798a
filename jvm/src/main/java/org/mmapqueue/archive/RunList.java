package org.mmapqueue.archive;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.owner.ClaimFiles;
import org.mmapqueue.archive.owner.Fences;
import org.mmapqueue.archive.run.GapName;
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
    private final boolean timed;

    /** The buckets that exist, by number; null for those that are not listed yet. */
    private TreeMap<Long, @Nullable BucketRuns> buckets = new TreeMap<>();

    /**
     * Gaps without a name that a new listing has shown again, from first offset to end: they are not the effect of a
     * listing beside changes.
     */
    private final NavigableMap<Long, Long> confirmed = new TreeMap<>();

    /** The gaps before the first run, as of the last full listing. */
    private List<GapName> passedGaps = List.of();

    private final ClaimFiles claims;
    private Fences fences = Fences.NONE;
    /** The highest epoch of a listed run or gap; a higher one means that another shipper has begun. */
    private long newestEpoch;

    /** What a bucket has with these names, by the present {@link #fences}. */
    private record Parsed(long bucket, List<String> names, BucketRuns runs) {}

    /** The bucket that {@link #advance} has read last: mostly it has the same names again. Null if fences are new. */
    private @Nullable Parsed newest;

    /** Begins at another number for each partition: a query of many does not list all of them again at once. */
    private int refreshes;

    private long first;
    private long end;

    RunList(ArchiveFiles files, int partition) {
        this(files, partition, false);
    }

    /** @param timed whether the times at which runs were stored are listed, too */
    RunList(ArchiveFiles files, int partition, boolean timed) {
        this.files = files;
        this.partition = partition;
        this.timed = timed;
        this.refreshes = partition % FULL_REFRESH;
        this.claims = new ClaimFiles(files, partition);
    }

    /**
     * Lists new runs.
     *
     * @throws ArchiveException if runs overlap without nesting
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
        Fences before = fences;
        while (true) {
            BucketRuns listed = listNewest(bucket);
            if (listed.isEmpty()) {
                return;
            }
            if (fences != before) {
                relist();
                return;
            }
            List<Gap> holes = holes(end, listed);
            if (!areConfirmed(holes)) {
                confirmAgain(holes);
                return;
            }
            buckets.put(bucket, listed);
            if (buckets.firstKey() == bucket && !listed.cover().isEmpty()) {
                first = listed.cover().get(0).first();
            }
            end = Math.max(end, listed.end());
            if (RunName.bucketOf(end) == bucket) {
                return;
            }
            bucket = RunName.bucketOf(end);
        }
    }

    private BucketRuns listNewest(long bucket) throws IOException {
        if (timed) {
            return BucketRuns.list(files, partition, bucket, true, this::fencesUpTo);
        }
        String directory = RunName.directory(partition, bucket);
        List<String> names = files.names(directory);
        Parsed known = newest;
        if (known == null || known.bucket() != bucket || !known.names().equals(names)) {
            BucketRuns runs = BucketRuns.of(names, Map.of(), bucket, files.uri() + directory, this::fencesUpTo);
            known = new Parsed(bucket, names, runs);
            newest = known;
        }
        return known.runs();
    }

    // The holes of a bucket that begin at its first run, or at an offset before it.
    private static List<Gap> holes(long from, BucketRuns listed) {
        List<RunName> cover = listed.cover();
        if (cover.isEmpty()) {
            return List.of();
        }
        return holes(
                        Math.min(from, cover.get(0).first()),
                        cover.get(cover.size() - 1).end(),
                        cover,
                        listed.gaps())
                .stream()
                .filter(each -> each.reason().isEmpty())
                .toList();
    }

    /** Discards what was listed, and lists again. */
    public void relist() throws IOException {
        try {
            listAgain();
        } catch (ArchiveException e) {
            listAgain(); // runs may have been replaced during the listing
        }
    }

    // Lists again, and confirms those holes that are seen a second time.
    private void confirmAgain(List<Gap> holes) throws IOException {
        long before = end;
        relist();
        if (!buckets.isEmpty()) {
            holes(before, bucket(buckets.lastKey())).stream()
                    .filter(holes::contains)
                    .forEach(this::confirm);
        }
    }

    private void confirm(Gap hole) {
        long from = hole.first();
        long to = hole.end();
        Map.Entry<Long, Long> other = confirmed.floorEntry(to);
        while (other != null && other.getValue() >= from) {
            from = Math.min(from, other.getKey());
            to = Math.max(to, other.getValue());
            confirmed.remove(other.getKey());
            other = confirmed.floorEntry(to);
        }
        confirmed.put(from, to);
    }

    private boolean areConfirmed(List<Gap> holes) {
        for (Gap each : holes) {
            Map.Entry<Long, Long> known = confirmed.floorEntry(each.first());
            if (known == null || known.getValue() < each.end()) {
                return false;
            }
        }
        return true;
    }

    private void listAgain() throws IOException {
        TreeMap<Long, @Nullable BucketRuns> found = new TreeMap<>();
        for (String name : files.directories(RunName.directory(partition))) {
            if (name.matches("[0-9]{12}")) {
                found.put(Long.parseLong(name), null);
            }
        }
        newest = null;
        fences = claims.fences();
        newestEpoch = fences.epoch();
        buckets = found;
        first = 0;
        end = 0;
        // Gaps before the first run are those between it and runs that retention has deleted.
        passedGaps = new ArrayList<>();
        while (!buckets.isEmpty() && bucket(buckets.firstKey()).cover().isEmpty()) {
            end = Math.max(end, bucket(buckets.firstKey()).end());
            passedGaps.addAll(bucket(buckets.firstKey()).gaps());
            buckets.pollFirstEntry();
        }
        first = end;
        while (!buckets.isEmpty() && bucket(buckets.lastKey()).isEmpty()) {
            buckets.pollLastEntry();
        }
        if (!buckets.isEmpty()) {
            first = bucket(buckets.firstKey()).cover().get(0).first();
            bucket(buckets.firstKey()).gaps().stream()
                    .filter(each -> each.end() <= first)
                    .forEach(passedGaps::add);
            end = Math.max(end, bucket(buckets.lastKey()).end());
        }
    }

    // What was listed before may have runs that another shipper has replaced: it is listed again.
    private Fences fencesUpTo(long epoch) throws IOException {
        if (epoch > newestEpoch) {
            newestEpoch = epoch;
            Fences now = claims.fences();
            if (now != fences) {
                fences = now;
                newest = null;
                buckets.replaceAll((number, listed) -> null);
            }
        }
        return fences;
    }

    /** The runs of a bucket, as listed last. */
    BucketRuns bucket(long number) throws IOException {
        BucketRuns listed = buckets.get(number);
        if (listed == null) {
            listed = BucketRuns.list(files, partition, number, timed, this::fencesUpTo);
            buckets.put(number, listed);
        }
        return listed;
    }

    /** The offset of the first record, as of the last full listing; {@link #endOffset} if no record exists. */
    public long firstOffset() {
        return first;
    }

    /** The offset after the last record or gap; 0 if there is neither. */
    public long endOffset() {
        return end;
    }

    /**
     * Returns the runs to read for a range, in order: those that are not nested in another run. {@link #gaps} returns
     * the records of the range that they do not have.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the runs that hold records of the range; none outside of {@link #firstOffset} to {@link #endOffset}
     * @throws ArchiveException if runs overlap without nesting
     */
    public List<RunName> cover(long from, long to) throws IOException {
        List<RunName> runs;
        try {
            runs = coverAsListed(from, to);
        } catch (ArchiveException e) {
            relist(); // runs may have been replaced between the listings of two buckets
            return coverAsListed(from, to);
        }
        List<Gap> holes = unnamed(from, to, runs);
        if (!areConfirmed(holes)) {
            relist(); // likewise
            runs = coverAsListed(from, to);
            unnamed(from, to, runs).forEach(this::confirm);
        }
        return runs;
    }

    /**
     * Returns the records of a range that no run has, in order.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the gaps, cut to the range; none outside of {@link #firstOffset} to {@link #endOffset}
     */
    public List<Gap> gaps(long from, long to) throws IOException {
        return gaps(from, to, cover(from, to));
    }

    private List<Gap> unnamed(long from, long to, List<RunName> runs) throws IOException {
        return gaps(from, to, runs).stream()
                .filter(each -> each.reason().isEmpty())
                .toList();
    }

    private List<Gap> gaps(long from, long to, List<RunName> runs) throws IOException {
        long low = Math.max(from, first);
        long high = Math.min(to, end);
        List<Gap> holes = holes(low, high, runs, List.of());
        return holes.isEmpty() ? holes : holes(low, high, runs, named(low, high));
    }

    // The names of gaps in a range. A gap begins after the last run before it, so that its bucket is not skipped here.
    private List<GapName> named(long from, long to) throws IOException {
        List<GapName> names = new ArrayList<>();
        if (!buckets.isEmpty()) {
            for (long number : buckets.tailMap(bucketOfRunAt(from), true)
                    .headMap(RunName.bucketOf(to - 1), true)
                    .keySet()) {
                names.addAll(bucket(number).gaps());
            }
        }
        return names;
    }

    // What is neither in runs, which are in order, nor outside of a range; split by the names of gaps.
    private static List<Gap> holes(long from, long to, List<RunName> runs, List<GapName> names) {
        List<Gap> holes = new ArrayList<>();
        long at = from;
        for (RunName run : runs) {
            addHole(at, Math.min(to, run.first()), names, holes);
            at = Math.max(at, run.end());
        }
        addHole(at, to, names, holes);
        return holes;
    }

    private static void addHole(long from, long to, List<GapName> names, List<Gap> holes) {
        long at = from;
        for (GapName name : names) {
            if (name.end() <= at || name.first() >= to || at >= to) {
                continue;
            }
            if (name.first() > at) {
                holes.add(new Gap(at, name.first(), Optional.empty()));
                at = name.first();
            }
            long end = Math.min(to, name.end());
            holes.add(new Gap(at, end, Optional.of(name.reason())));
            at = end;
        }
        if (at < to) {
            holes.add(new Gap(at, to, Optional.empty()));
        }
    }

    private List<RunName> coverAsListed(long from, long to) throws IOException {
        List<RunName> runs = new ArrayList<>();
        long low = Math.max(from, first);
        long high = Math.min(to, end);
        if (low >= high || buckets.isEmpty()) {
            return runs;
        }
        RunName last = null;
        for (long number : buckets.tailMap(bucketOfRunAt(low), true).keySet()) {
            if (last != null && last.end() >= high) {
                break;
            }
            List<RunName> cover = bucket(number).cover();
            // Those before are not of the range, or nested in a run of the previous bucket.
            int next = firstEndingAfter(cover, last == null ? low : Math.max(low, last.end()));
            if (last == null && next > 0) {
                last = cover.get(next - 1);
            }
            for (RunName run : cover.subList(next, cover.size())) {
                if (last != null && run.first() < last.end()) {
                    throw RunNesting.conflict(
                            files.uri() + RunName.directory(partition),
                            last,
                            run,
                            "overlap, and neither is in the other");
                }
                if (run.first() >= high) {
                    return runs;
                }
                last = run;
                runs.add(run);
            }
        }
        return runs;
    }

    // The index of the first run that ends after an offset. Runs that are not nested end in the order of their offsets.
    private static int firstEndingAfter(List<RunName> cover, long offset) {
        int low = 0;
        int high = cover.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (cover.get(middle).end() > offset) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
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

    /**
     * Splits a range at the beginnings of buckets, for callers that may need a part of it: {@link #cover} of a part lists
     * the part's bucket, and the previous one if a run continues from there. Lists nothing.
     *
     * @return the bounds, ascending: from, the first offsets of buckets in between, to
     */
    long[] bounds(long from, long to) {
        LongStream.Builder bounds = LongStream.builder().add(from);
        if (from < to) {
            buckets.subMap(RunName.bucketOf(from), false, RunName.bucketOf(to - 1), true).keySet().stream()
                    .mapToLong(each -> each * RunName.BUCKET)
                    .forEach(bounds::add);
        }
        return bounds.add(to).build().toArray();
    }

    /** Forgets the runs of the buckets that end before an offset: they are listed again if they are needed. */
    void forget(long before) {
        buckets.headMap(RunName.bucketOf(before), false).replaceAll((number, listed) -> null);
    }

    /** The gaps before the first run, as of the last full listing; retention has deleted the runs before them. */
    List<GapName> passedGaps() {
        return passedGaps;
    }

    /** The highest epoch of a shipper, as of the last listing; 1 or more. */
    long epoch() {
        return Math.max(1, Math.max(fences.epoch(), newestEpoch));
    }

    /** The buckets that exist, listed or not. */
    NavigableSet<Long> bucketNumbers() {
        return Collections.unmodifiableNavigableSet(buckets.navigableKeySet());
    }

    /** Lists a bucket again. */
    BucketRuns listBucket(long number) throws IOException {
        BucketRuns listed = BucketRuns.list(files, partition, number, timed, this::fencesUpTo);
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

    /** The runs that are not nested in another run of their bucket, by first offset; gaps between them are valid. */
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
