package org.mmapqueue.archive;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    private final Map<RunName, Long> modified;

    private BucketRuns(List<RunName> all, List<GapName> gaps, Map<RunName, Long> modified, String where) {
        this.all = all;
        this.gaps = gaps;
        this.modified = modified;
        this.cover = RunNesting.cover(all, where);
    }

    /**
     * Lists a bucket, without what readers leave out because its shipper was replaced.
     *
     * @throws org.mmapqueue.errors.ArchiveException if runs overlap without nesting, or differ from those nested in them
     */
    static BucketRuns list(ArchiveFiles files, int partition, long bucket, FenceLookup fences) throws IOException {
        String directory = RunName.directory(partition, bucket);
        Map<RunName, Long> modified = new HashMap<>();
        List<GapName> gaps = new ArrayList<>();
        long newest = 0;
        for (ArchiveFiles.Entry file : files.list(directory)) {
            Optional<RunName> run = RunName.parse(file.name()).filter(each -> each.bucket() == bucket);
            if (run.isPresent()) {
                modified.put(run.get(), file.modifiedMillis());
                newest = Math.max(newest, run.get().epoch());
            }
            Optional<GapName> gap = GapName.parse(file.name()).filter(each -> RunName.bucketOf(each.first()) == bucket);
            if (gap.isPresent()) {
                gaps.add(gap.get());
                newest = Math.max(newest, gap.get().epoch());
            }
        }
        Fences known = fences.upTo(newest);
        modified.keySet().removeIf(each -> known.hides(each.epoch(), each.end()));
        gaps.removeIf(each -> known.hides(each.epoch(), each.end()));
        List<RunName> all = new ArrayList<>(modified.keySet());
        all.sort(ORDER);
        return new BucketRuns(List.copyOf(all), List.copyOf(gaps), modified, files.uri() + directory);
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
        long oldest = Long.MAX_VALUE;
        for (RunName each : all) {
            if (each.first() <= run.first() && each.end() >= run.end() && each.count() > run.count()) {
                oldest = Math.min(oldest, modified.get(each));
            }
        }
        return oldest;
    }
}
