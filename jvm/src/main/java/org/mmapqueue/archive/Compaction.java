package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.CorruptException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces small runs of one partition by larger ones of the same records. The larger run is stored first. The small
 * ones are deleted after a grace period, so that readers that have listed them can still read them. A process that is
 * killed in between leaves small runs nested in a larger one, which the next process deletes.
 *
 * <p>Not thread-safe, and for at most one process for each partition: the one that ships it. Completed buckets are not
 * listed again.
 */
public final class Compaction {
    private static final Logger LOG = LoggerFactory.getLogger(Compaction.class);

    private final Archive archive;
    private final PartitionEntry partition;
    private final ArchiveCodec codec;
    private final long graceNanos;
    private final LongSupplier nanoClock;
    private final BooleanSupplier isOver;
    private final RunList runs;

    /** Last bucket up to which all are complete, with nothing left to do. */
    private long done = -1;

    /** The offset after the last record of those buckets. */
    private long doneEnd;

    /** Replaced runs, and the time at which they were found to be replaced. */
    private Map<RunName, Long> replaced = new HashMap<>();

    private final Set<RunName> damaged = new HashSet<>();

    /**
     * Makes a compaction; reads nothing yet.
     *
     * @param codec the compression of new runs
     * @param grace the shortest time for which replaced runs are kept
     * @param isOver whether the owner has ended; then nothing is stored or deleted any more
     */
    public Compaction(
            Archive archive, PartitionEntry partition, ArchiveCodec codec, Duration grace, BooleanSupplier isOver) {
        this(archive, partition, codec, grace, isOver, System::nanoTime);
    }

    Compaction(
            Archive archive,
            PartitionEntry partition,
            ArchiveCodec codec,
            Duration grace,
            BooleanSupplier isOver,
            LongSupplier nanoClock) {
        this.archive = archive;
        this.partition = partition;
        this.codec = codec;
        this.graceNanos = grace.toNanos();
        this.nanoClock = nanoClock;
        this.isOver = isOver;
        this.runs = archive.runs(partition.id());
    }

    /**
     * Lists, and stores at most one run, of less than 128 MiB before compression; deletes replaced runs after the grace
     * period. When nothing is to be done, a step costs one listing: call it after about every tenth run.
     *
     * @return whether a run was stored or deleted, so that more may be to do
     * @throws org.mmapqueue.errors.ArchiveException if the archive's runs overlap without nesting
     */
    public boolean step() throws IOException {
        runs.refresh();
        boolean acted = false;
        boolean pending = false;
        long reach = doneEnd;
        Map<RunName, Long> stillReplaced = new HashMap<>();
        for (long bucket : new ArrayList<>(runs.bucketNumbers().tailSet(done, false))) {
            boolean complete = bucket < RunName.bucketOf(runs.endOffset());
            BucketRuns listed = complete ? runs.listBucket(bucket) : runs.bucket(bucket);
            acted |= deleteReplaced(listed, stillReplaced);
            List<RunName> cover = after(reach, listed.cover());
            List<RunName> chosen = CompactionPlan.choose(cover, complete, damaged::contains);
            if (!acted && !chosen.isEmpty()) {
                merge(chosen);
                acted = true;
            }
            pending |= !complete
                    || !chosen.isEmpty()
                    || listed.all().size() > listed.cover().size();
            reach = cover.isEmpty() ? reach : cover.get(cover.size() - 1).end();
            if (!pending) {
                done = bucket;
                doneEnd = reach;
            }
        }
        replaced = stillReplaced;
        return acted;
    }

    // The runs that are not nested in a run of an earlier bucket.
    private static List<RunName> after(long reach, List<RunName> cover) {
        int in = 0;
        while (in < cover.size() && cover.get(in).first() < reach) {
            in++;
        }
        return cover.subList(in, cover.size());
    }

    private void merge(List<RunName> chosen) throws IOException {
        try {
            RunName all = RunMerger.merge(archive.files(), partition.id(), partition.queue(), chosen, codec, isOver);
            LOG.debug("partition {}: {} runs became {}", partition.id(), chosen.size(), all);
        } catch (CorruptException e) {
            for (RunName run : chosen) {
                if (e.file().endsWith(run.toString())) {
                    damaged.add(run); // left unchanged, so that readers can skip the damage
                }
            }
            LOG.warn("partition {}: a run is not merged with others", partition.id(), e);
            if (Collections.disjoint(damaged, chosen)) {
                throw e;
            }
        }
    }

    // Deletes the runs that have been nested in a longer one for the grace period.
    private boolean deleteReplaced(BucketRuns listed, Map<RunName, Long> stillReplaced) throws IOException {
        if (listed.all().size() == listed.cover().size()) {
            return false;
        }
        boolean deleted = false;
        long now = nanoClock.getAsLong();
        Set<RunName> cover = new HashSet<>(listed.cover());
        for (RunName run : listed.all()) {
            if (cover.contains(run)) {
                continue;
            }
            long since = replaced.getOrDefault(run, now);
            if (now - since >= graceNanos && !isOver.getAsBoolean()) {
                archive.files().delete(run.file(partition.id()));
                deleted = true;
            } else {
                stillReplaced.put(run, since);
            }
        }
        return deleted;
    }
}
