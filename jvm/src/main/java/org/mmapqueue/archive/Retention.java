package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;

/**
 * Deletes the oldest runs of one partition: those that every consumer of the archive has committed, and that no consumer
 * of the queue itself needs, if their newest record is old enough. A consumer without an offset for the partition retains
 * everything. From an age on, consumers of the queue itself retain nothing: their next call says what they have lost. A
 * clock that is set ahead deletes nothing early ({@link AgeCutOff}). The last run stays, because it shows where shipping
 * continues.
 *
 * <p>Not thread-safe, and for at most one process for each partition: the one that ships it.
 */
public final class Retention {
    private final Archive archive;
    private final int partition;
    private final AgeCutOff retain;
    /** Null for none. */
    private final @Nullable AgeCutOff abandon;

    private final LongSupplier consumed;
    private final RunList runs;

    /**
     * Makes the retention; reads nothing yet.
     *
     * @param retain the minimum time for which records are kept, 0 or more
     * @param abandon the time after which consumers of the queue itself keep a record no longer; 0 for never
     * @param consumed the offset of the first record that a consumer of the queue itself needs
     */
    public Retention(
            Archive archive, PartitionEntry partition, Duration retain, Duration abandon, LongSupplier consumed) {
        this(archive, partition, retain, abandon, consumed, InstantSource.system(), System::nanoTime);
    }

    Retention(
            Archive archive,
            PartitionEntry partition,
            Duration retain,
            Duration abandon,
            LongSupplier consumed,
            InstantSource clock,
            LongSupplier nanos) {
        if (retain.isNegative() || abandon.isNegative()) {
            throw new IllegalArgumentException(
                    "retain = " + retain + ", abandon = " + abandon + "; expected 0 or more");
        }
        this.archive = archive;
        this.partition = partition.id();
        this.retain = new AgeCutOff(retain, clock, nanos);
        this.abandon = abandon.isZero() ? null : new AgeCutOff(abandon, clock, nanos);
        this.consumed = consumed;
        this.runs = archive.timedRuns(partition.id());
    }

    /**
     * Lists the oldest runs, and deletes those that need not be kept.
     *
     * @return the number of deleted records
     */
    public long step() throws IOException {
        runs.relist();
        if (runs.firstOffset() < runs.endOffset()) {
            deletePassedGaps();
        }
        long committed = committed();
        long needed = consumed.getAsLong();
        long oldest = micros(retain);
        long abandoned = abandon == null ? Long.MIN_VALUE : micros(abandon);
        long last = lastRunEnd();
        long deleted = 0;
        for (long bucket : new ArrayList<>(runs.bucketNumbers())) {
            BucketRuns listed = runs.bucket(bucket);
            int kept = listed.cover().size();
            for (RunName run : listed.cover()) {
                if (run.end() > committed || run.end() >= last) {
                    return deleted;
                }
                long newest = listed.newestMicros(run);
                if (newest >= oldest || run.end() > needed && newest >= abandoned) {
                    return deleted;
                }
                delete(run);
                deleted += run.count();
                kept--;
            }
            if (kept == 0 && bucket < RunName.bucketOf(runs.endOffset())) {
                archive.files().deleteDirectory(RunName.directory(partition, bucket));
            }
        }
        return deleted;
    }

    // The offset after the last run: a gap may follow it.
    private long lastRunEnd() throws IOException {
        for (long bucket : runs.bucketNumbers().descendingSet()) {
            List<RunName> cover = runs.bucket(bucket).cover();
            if (!cover.isEmpty()) {
                return cover.get(cover.size() - 1).end();
            }
        }
        return 0;
    }

    private static long micros(AgeCutOff age) {
        return StartAt.timestamp(age.time()).value();
    }

    private void deletePassedGaps() throws IOException {
        for (GapName gap : runs.passedGaps()) {
            archive.files().delete(gap.file(partition));
            if (RunName.bucketOf(gap.first()) < RunName.bucketOf(runs.firstOffset())) {
                archive.files().deleteDirectory(RunName.directory(partition, RunName.bucketOf(gap.first())));
            }
        }
    }

    // Deletes the runs nested in it first: without the outer run they would be read, with gaps.
    private void delete(RunName run) throws IOException {
        ArchiveFiles files = archive.files();
        for (long bucket : runs.bucketNumbers().subSet(run.bucket(), true, RunName.bucketOf(run.end() - 1), true)) {
            for (RunName each : runs.bucket(bucket).all()) {
                if (each.first() >= run.first() && each.end() <= run.end() && !each.equals(run)) {
                    files.delete(each.file(partition));
                }
            }
        }
        files.delete(run.file(partition));
    }

    private long committed() throws IOException {
        long lowest = Long.MAX_VALUE;
        for (ArchiveConsumer consumer : archive.consumers()) {
            lowest = Math.min(lowest, consumer.offsets().getOrDefault(partition, 0L));
        }
        return lowest;
    }
}
