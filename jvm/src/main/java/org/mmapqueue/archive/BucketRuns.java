package org.mmapqueue.archive;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.owner.Fences;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;

/** The runs and gaps of one bucket, as of one listing. Immutable. */
final class BucketRuns {
    /** Order by first offset, then by length, the longest run first. */
    static final Comparator<RunName> ORDER = Comparator.comparingLong(RunName::first)
            .thenComparing(Comparator.comparingLong(RunName::end).reversed());

    private final List<RunName> all;
    private final List<RunName> cover;
    private final List<GapName> gaps;
    /** When each run was stored, in ms since 1970; empty if no caller needs it. */
    private final Map<RunName, Long> modified;
    /** Of the runs that are nested in others: when the first of those was stored. Empty likewise. */
    private final Map<RunName, Long> replaced;

    private BucketRuns(List<RunName> all, List<GapName> gaps, Map<RunName, Long> modified, String where) {
        this.all = all;
        this.gaps = gaps;
        this.modified = modified;
        this.cover = RunNesting.cover(all, where);
        this.replaced = modified.isEmpty() ? Map.of() : replaced(all, modified);
    }

    // One pass: a bucket may have tens of thousands of replaced runs. The runs nest, so the last one that is open is in
    // all others that are.
    private static Map<RunName, Long> replaced(List<RunName> all, Map<RunName, Long> modified) {
        Map<RunName, Long> oldest = new HashMap<>();
        Deque<RunName> open = new ArrayDeque<>();
        for (RunName run : all) {
            while (!open.isEmpty() && open.peek().end() <= run.first()) {
                open.pop();
            }
            RunName outer = open.peek();
            if (outer != null) {
                oldest.put(run, Math.min(modified.get(outer), oldest.getOrDefault(outer, Long.MAX_VALUE)));
            }
            open.push(run);
        }
        return oldest;
    }

    /**
     * Lists a bucket, without what readers leave out because its shipper was replaced.
     *
     * @param timed whether {@link #newestMicros} and {@link #replacedMillis} will be called
     * @throws org.mmapqueue.errors.ArchiveException if runs overlap without nesting, or differ from those nested in them
     */
    static BucketRuns list(ArchiveFiles files, int partition, long bucket, boolean timed, FenceLookup fences)
            throws IOException {
        String directory = RunName.directory(partition, bucket);
        if (!timed) {
            return of(files.names(directory), Map.of(), bucket, files.uri() + directory, fences);
        }
        List<String> names = new ArrayList<>();
        Map<RunName, Long> modified = new HashMap<>();
        for (ArchiveFiles.Entry file : files.list(directory)) {
            names.add(file.name());
            RunName.parse(file.name()).ifPresent(run -> modified.put(run, file.modifiedMillis()));
        }
        return of(names, modified, bucket, files.uri() + directory, fences);
    }

    /** The runs and gaps with these names of files; see {@link #list}. */
    static BucketRuns of(List<String> names, Map<RunName, Long> modified, long bucket, String where, FenceLookup fences)
            throws IOException {
        List<RunName> all = new ArrayList<>();
        List<GapName> gaps = new ArrayList<>();
        for (String name : names) {
            RunName.parse(name).filter(each -> each.bucket() == bucket).ifPresent(all::add);
            GapName.parse(name)
                    .filter(each -> RunName.bucketOf(each.first()) == bucket)
                    .ifPresent(gaps::add);
        }
        long newest = 0;
        for (RunName each : all) {
            newest = Math.max(newest, each.epoch());
        }
        for (GapName each : gaps) {
            newest = Math.max(newest, each.epoch());
        }
        Fences known = fences.upTo(newest);
        all.removeIf(each -> known.hides(each.epoch(), each.end()));
        gaps.removeIf(each -> known.hides(each.epoch(), each.end()));
        all.sort(ORDER);
        return new BucketRuns(List.copyOf(all), List.copyOf(gaps), modified, where);
    }

    /** Knows where shippers have begun. */
    interface FenceLookup {
        /** Where they have begun, as of a time when a shipper of this epoch had. */
        Fences upTo(long epoch) throws IOException;
    }

    /** All runs, by first offset, then the longest first. */
    List<RunName> all() {
        return all;
    }

    /** The runs that are not nested in another run, in order. */
    List<RunName> cover() {
        return cover;
    }

    /** The gaps that begin in this bucket, by first offset; runs may have some of their records. */
    List<GapName> gaps() {
        return gaps;
    }

    boolean isEmpty() {
        return all.isEmpty() && gaps.isEmpty();
    }

    /** The offset after the last record of a run or a gap; 0 for none. */
    long end() {
        long end = cover.isEmpty() ? 0 : cover.get(cover.size() - 1).end();
        for (GapName each : gaps) {
            end = Math.max(end, each.end());
        }
        return end;
    }

    /**
     * Time of the newest record of a run, in µs since 1970; for records without timestamps, the time when the run was
     * stored.
     */
    long newestMicros(RunName run) {
        return run.maxMicros() > 0 ? run.maxMicros() : 1000 * modified.get(run);
    }

    /**
     * Time from which a run was replaced: the oldest time at which a longer run around it was stored, in ms since 1970;
     * {@code Long.MAX_VALUE} if there is none.
     */
    long replacedMillis(RunName run) {
        return replaced.getOrDefault(run, Long.MAX_VALUE);
    }
}
