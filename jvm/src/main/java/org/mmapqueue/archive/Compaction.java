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
import java.util.function.LongSupplier;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.CorruptException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces small runs of one partition by larger ones of the same records. The larger one is stored first; the small
 * ones are deleted after a time, so that readers that have listed them can read them. A process that was killed in
 * between leaves small runs that are in a larger one: the next one deletes them.
 *
 * <p>One thread at a time, and at most one process for each partition: the one that ships it. Buckets in which nothing is
 * left to do are not listed again.
 */
public final class Compaction {
    private static final Logger LOG = LoggerFactory.getLogger(Compaction.class);

    private final Archive archive;
    private final PartitionEntry partition;
    private final ArchiveCodec codec;
    private final long graceNanos;
    private final LongSupplier nanoClock;
    private final RunList runs;

    /** Buckets that are complete, with nothing left to do, up to this one. */
    private long done = -1;

    /** The offset after the last record of these. */
    private long doneEnd;

    /** Replaced runs, and when they were found to be. */
    private Map<RunName, Long> replaced = new HashMap<>();

    private final Set<RunName> damaged = new HashSet<>();

    /**
     * Nothing is read yet.
     *
     * @param codec for the runs that are stored
     * @param grace how long replaced runs are kept, at least
     */
    public Compaction(Archive archive, PartitionEntry partition, ArchiveCodec codec, Duration grace) {
        this(archive, partition, codec, grace, System::nanoTime);
    }

    Compaction(Archive archive, PartitionEntry partition, ArchiveCodec codec, Duration grace, LongSupplier nanoClock) {
        this.archive = archive;
        this.partition = partition;
        this.codec = codec;
        this.graceNanos = grace.toNanos();
        this.nanoClock = nanoClock;
        this.runs = archive.runs(partition.id());
    }

    /**
     * Lists, and stores at most one run, of less than 128 MiB before compression; deletes replaced runs after their time.
     * Listing is what it costs when there is nothing to do: call it after every tenth run or so.
     *
     * @return whether it has stored or deleted anything: there may be more to do
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

    // Without those that lie in a run which begins in another bucket.
    private static List<RunName> after(long reach, List<RunName> cover) {
        int in = 0;
        while (in < cover.size() && cover.get(in).first() < reach) {
            in++;
        }
        return cover.subList(in, cover.size());
    }

    private void merge(List<RunName> chosen) throws IOException {
        try {
            RunName all = RunMerger.merge(archive.files(), partition.id(), partition.queue(), chosen, codec);
            LOG.debug("partition {}: {} runs became {}", partition.id(), chosen.size(), all);
        } catch (CorruptException e) {
            for (RunName run : chosen) {
                if (e.file().endsWith(run.toString())) {
                    damaged.add(run); // left as it is, so that readers can skip the damage
                }
            }
            LOG.warn("partition {}: a run is not merged with others", partition.id(), e);
            if (Collections.disjoint(damaged, chosen)) {
                throw e;
            }
        }
    }

    // Deletes the runs that lie in a longer one and have done so for the grace.
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
            if (now - since >= graceNanos) {
                archive.files().delete(run.file(partition.id()));
                deleted = true;
            } else {
                stillReplaced.put(run, since);
            }
        }
        return deleted;
    }
}
