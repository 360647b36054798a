package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunCoverage;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.CorruptException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces small runs of one partition by larger ones of the same records. The larger run is stored first. The small
 * ones are deleted after a grace period, so that readers that have listed them can still read them, and only after the
 * larger run was read back and has their records. The period counts from the time at which the larger run was stored,
 * so it does not matter how long a process runs. A process that is killed in between leaves small runs nested in a larger
 * one, which the next process deletes.
 *
 * <p>Not thread-safe, and for at most one process for each partition: the one that ships it. Completed buckets are not
 * listed again.
 */
public final class Compaction {
    private static final Logger LOG = LoggerFactory.getLogger(Compaction.class);

    private final Archive archive;
    private final PartitionEntry partition;
    private final ArchiveCodec codec;
    private final Duration grace;
    private final InstantSource clock;
    private final BooleanSupplier isOver;
    private final RunMerger.Right right;
    private final RunList runs;
    private final UnfinishedMerges unfinished;

    /** Last bucket up to which all are complete, with nothing left to do. */
    private long done = -1;

    /** The offset after the last record of those buckets. */
    private long doneEnd;

    /** Replaced runs with records that the run around them does not have. */
    private final Set<RunName> kept = new HashSet<>();

    private final Set<RunName> damaged = new HashSet<>();

    /**
     * Makes a compaction that nothing ends but its caller; reads nothing yet.
     *
     * @param codec the compression of new runs
     * @param grace the minimum time for which replaced runs are kept
     */
    public Compaction(Archive archive, PartitionEntry partition, ArchiveCodec codec, Duration grace) {
        this(archive, partition, codec, grace, () -> false, () -> {});
    }

    /**
     * Makes a compaction; reads nothing yet.
     *
     * @param codec the compression of new runs
     * @param grace the minimum time for which replaced runs are kept
     * @param isOver whether the owner has ended; then nothing is stored or deleted any more
     * @param right whether the owner still ships the partition: asked before a merged run gets its name
     */
    public Compaction(
            Archive archive,
            PartitionEntry partition,
            ArchiveCodec codec,
            Duration grace,
            BooleanSupplier isOver,
            RunMerger.Right right) {
        this(archive, partition, codec, grace, isOver, right, InstantSource.system());
    }

    Compaction(
            Archive archive,
            PartitionEntry partition,
            ArchiveCodec codec,
            Duration grace,
            BooleanSupplier isOver,
            RunMerger.Right right,
            InstantSource clock) {
        this.archive = archive;
        this.partition = partition;
        this.codec = codec;
        this.grace = grace;
        this.clock = clock;
        this.isOver = isOver;
        this.right = right;
        this.runs = archive.timedRuns(partition.id());
        this.unfinished = new UnfinishedMerges(archive.files(), partition.id());
    }

    /** As {@link #step(boolean)}, while space is not short. */
    public boolean step() throws IOException {
        return step(false);
    }

    /**
     * Lists, and stores at most one run, of less than 128 MiB before compression; deletes replaced runs after the grace
     * period. When nothing is to be done, a step costs one listing: call it after about every tenth run.
     *
     * @param isShort whether space is short: then replaced runs are deleted without the grace period
     * @return whether a run was stored or deleted, so that more may be to do
     * @throws org.mmapqueue.errors.ArchiveException if the archive's runs overlap without nesting
     */
    public boolean step(boolean isShort) throws IOException {
        runs.refresh();
        List<RunName> begun = begun();
        if (!begun.isEmpty()) {
            merge(begun);
            return true;
        }
        Duration after = isShort ? Duration.ZERO : grace;
        boolean acted = false;
        boolean pending = false;
        long reach = doneEnd;
        for (long bucket : new ArrayList<>(runs.bucketNumbers().tailSet(done, false))) {
            boolean complete = bucket < RunName.bucketOf(runs.endOffset());
            BucketRuns listed = complete ? runs.listBucket(bucket) : runs.bucket(bucket);
            acted |= deleteReplaced(listed, after);
            List<RunName> cover = after(reach, listed.cover());
            List<RunName> chosen = CompactionPlan.choose(cover, complete, damaged::contains);
            if (!acted && !chosen.isEmpty()) {
                merge(chosen);
                acted = true;
            }
            pending |= !complete || !chosen.isEmpty() || hasReplaced(listed);
            reach = cover.isEmpty() ? reach : cover.get(cover.size() - 1).end();
            if (!pending) {
                done = bucket;
                doneEnd = reach;
            }
        }
        return acted;
    }

    private boolean hasReplaced(BucketRuns listed) {
        return listed.all().size()
                > listed.cover().size()
                        + listed.all().stream().filter(kept::contains).count();
    }

    // The runs that are not nested in a run of an earlier bucket.
    private static List<RunName> after(long reach, List<RunName> cover) {
        int in = 0;
        while (in < cover.size() && cover.get(in).first() < reach) {
            in++;
        }
        return cover.subList(in, cover.size());
    }

    // The runs of a merge that was begun and may be stored late: its run gets its name before any other one.
    private List<RunName> begun() throws IOException {
        for (RunName each : unfinished.all()) {
            List<RunName> parts = runs.cover(each.first(), each.end());
            if (parts.size() > 1 && Collections.disjoint(damaged, parts) && isMadeOf(each, parts)) {
                return parts;
            }
            unfinished.end(each);
        }
        return List.of();
    }

    private static boolean isMadeOf(RunName run, List<RunName> parts) {
        long end = run.first();
        for (RunName part : parts) {
            if (part.first() != end) {
                return false;
            }
            end = part.end();
        }
        return end == run.end() && RunMerger.name(parts).equals(run);
    }

    private void merge(List<RunName> chosen) throws IOException {
        RunName all = RunMerger.name(chosen);
        unfinished.begin(all);
        try {
            RunMerger.merge(archive.files(), partition.id(), partition.queue(), chosen, codec, isOver, right);
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
        unfinished.end(all); // not after other errors: the run may still appear
    }

    // Deletes the runs that were replaced for the grace period, or any replaced run if space is short, once the run
    // that replaces them was read back, and has their records.
    private boolean deleteReplaced(BucketRuns listed, Duration after) throws IOException {
        Map<RunName, List<RunName>> due = due(listed, after);
        boolean deleted = false;
        for (Map.Entry<RunName, List<RunName>> each : due.entrySet()) {
            Set<RunName> covered = covered(each.getKey(), each.getValue());
            if (!covered.isEmpty()) {
                archive.files().makeDurable(each.getKey().file(partition.id()));
            }
            for (RunName run : each.getValue()) {
                if (covered.contains(run) && !isOver.getAsBoolean()) {
                    archive.files().delete(run.file(partition.id()));
                    deleted = true;
                }
            }
        }
        return deleted;
    }

    // The replaced runs to delete, by the run that replaces them.
    private Map<RunName, List<RunName>> due(BucketRuns listed, Duration after) {
        Map<RunName, List<RunName>> due = new LinkedHashMap<>();
        if (listed.all().size() == listed.cover().size()) {
            return due;
        }
        long latest = clock.instant().minus(after).toEpochMilli();
        Set<RunName> read = new HashSet<>(listed.cover());
        int at = 0;
        for (RunName run : listed.all()) {
            while (at < listed.cover().size() && listed.cover().get(at).end() < run.end()) {
                at++;
            }
            RunName outer = at < listed.cover().size() ? listed.cover().get(at) : null;
            if (outer != null
                    && outer.first() <= run.first()
                    && !read.contains(run)
                    && !kept.contains(run)
                    && listed.replacedMillis(run) <= latest) {
                due.computeIfAbsent(outer, key -> new ArrayList<>()).add(run);
            }
        }
        return due;
    }

    // Notes the runs that must stay: their records are in no other run.
    private Set<RunName> covered(RunName outer, List<RunName> inner) throws IOException {
        try {
            Set<RunName> covered =
                    RunCoverage.covered(archive.files(), partition.id(), partition.queue(), outer, inner, isOver);
            for (RunName run : inner) {
                if (!covered.contains(run) && kept.add(run)) {
                    LOG.warn(
                            "partition {} of {}: run {} stays, since {} has other records",
                            partition.id(),
                            archive.files().uri(),
                            run,
                            outer);
                }
            }
            return covered;
        } catch (CorruptException e) {
            kept.addAll(inner);
            LOG.warn(
                    "partition {} of {}: {} runs stay, since the run that replaces them is damaged: {}",
                    partition.id(),
                    archive.files().uri(),
                    inner.size(),
                    e.getMessage());
            return Set.of();
        }
    }
}
