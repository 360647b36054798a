package org.mmapqueue.spark.source;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.StoppedQuery;

/** A partition of an archive, planned by the names of its runs. Not thread-safe. */
public final class ArchivedPartition implements ReadablePartition {
    /** The maximum number of directories that are listed at once; a listing waits for a server, not for a processor. */
    private static final int LISTINGS = 16;

    private static final String THIS_HOST = "localhost";

    private final ArchiveView view;
    private final PartitionEntry entry;
    private final ArchivePartition runs;
    private boolean isListed;

    ArchivedPartition(ArchiveView view, PartitionEntry entry, ArchivePartition runs) {
        this.view = view;
        this.entry = entry;
        this.runs = runs;
    }

    /**
     * Lists the new runs of several partitions in parallel.
     *
     * @param partitions the partitions; those of local queues list nothing
     * @throws java.io.UncheckedIOException if the thread is interrupted
     */
    public static void list(Collection<? extends ReadablePartition> partitions) {
        List<ArchivedPartition> archived = new ArrayList<>();
        partitions.forEach(each -> {
            if (each instanceof ArchivedPartition one) {
                archived.add(one);
            }
        });
        if (archived.size() < 2) {
            archived.forEach(ArchivedPartition::list);
            return;
        }
        ExecutorService threads = Executors.newFixedThreadPool(Math.min(LISTINGS, archived.size()), task -> {
            Thread thread = new Thread(task, "mmapqueue-list");
            thread.setDaemon(true);
            return thread;
        });
        try {
            List<Future<?>> listings = new ArrayList<>();
            archived.forEach(each -> listings.add(threads.submit((Runnable) each::list)));
            for (Future<?> each : listings) {
                each.get();
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException("a listing failed: " + e.getCause(), e);
        } catch (InterruptedException e) {
            throw StoppedQuery.interrupted("an archive was listed", e);
        } finally {
            threads.shutdownNow();
        }
    }

    private void list() {
        runs.refresh();
        isListed = true;
    }

    private ArchivePartition listed() {
        if (!isListed) {
            list();
        }
        return runs;
    }

    @Override
    public int id() {
        return entry.id();
    }

    @Override
    public UUID queueId() {
        return entry.queue();
    }

    @Override
    public String path() {
        return view.location().path();
    }

    @Override
    public PartitionLocation location(long from, long to) {
        return new ArchivePartitionLocation(
                id(), path(), queueId(), List.copyOf(listed().runs(from, to)), view.taskFiles());
    }

    /**
     * Returns whether any run exists.
     *
     * @return false from the registration of the partition to its first run
     */
    public boolean hasRuns() {
        return firstOffset() < endOffset();
    }

    @Override
    public long firstOffset() {
        return listed().firstOffset();
    }

    @Override
    public long endOffset() {
        return listed().endOffset();
    }

    @Override
    public List<Missing> missing(long from, long to) {
        return listed().gaps(from, to).stream()
                .map(each -> new Missing(each.first(), each.end(), each.why()))
                .toList();
    }

    /** Known by the names of the runs. */
    @Override
    public boolean mayHaveLost(long from, long to) {
        return listed().runs(from, to).stream().anyMatch(each -> each.lost() > 0);
    }

    @Override
    public long bytes(long from, long to) {
        return listed().bytes(from, to);
    }

    @Override
    public long estimatedBytes(long from, long to) {
        return listed().estimatedBytes(from, to);
    }

    @Override
    public long endWithin(long from, long to, long most) {
        return listed().endWithin(from, to, most);
    }

    /**
     * Frees memory of the plans before an offset.
     *
     * @param before the offset of a record that will be planned next
     */
    public void forget(long before) {
        runs.forget(before);
    }

    @Override
    public long[] split(long from, long to, long bytes) {
        return listed().split(from, to, bytes);
    }

    @Override
    public OptionalLong find(Instant time) {
        refuseWithoutTimes();
        return runs.find(time);
    }

    private void refuseWithoutTimes() {
        if (hasRuns() && lastTimed(firstOffset(), endOffset()).isEmpty()) {
            throw new ConfigException("timestamps", "false", "true");
        }
    }

    /** The first run of a range that has timestamps; lists no bucket after it. */
    private Optional<RunName> firstTimed(long from, long to) {
        long[] bounds = listed().bounds(from, to);
        for (int i = 1; i < bounds.length; i++) {
            for (RunName each : runs.runs(bounds[i - 1], bounds[i])) {
                if (each.maxMicros() > 0) {
                    return Optional.of(each);
                }
            }
        }
        return Optional.empty();
    }

    /** The last run of a range that has timestamps; lists no bucket before it. */
    private Optional<RunName> lastTimed(long from, long to) {
        long[] bounds = listed().bounds(from, to);
        for (int i = bounds.length - 1; i > 0; i--) {
            List<RunName> names = runs.runs(bounds[i - 1], bounds[i]);
            for (int j = names.size() - 1; j >= 0; j--) {
                if (names.get(j).maxMicros() > 0) {
                    return Optional.of(names.get(j));
                }
            }
        }
        return Optional.empty();
    }

    /** Returns whole runs, by their names alone, unless the range must be exact. */
    @Override
    public long[] rangeOf(long lowMicros, long highMicros, boolean isExact) {
        if (isExact) {
            return exactRange(lowMicros, highMicros);
        }
        refuseWithoutTimes();
        long from = Long.MAX_VALUE;
        long[] bounds = runs.bounds(firstOffset(), endOffset());
        for (int i = 1; i < bounds.length; i++) {
            for (RunName each : runs.runs(bounds[i - 1], bounds[i])) {
                if (from == Long.MAX_VALUE && each.maxMicros() > 0 && each.maxMicros() >= lowMicros) {
                    from = each.first();
                }
                if (each.minMicros() > highMicros) {
                    return new long[] {from, each.first()};
                }
            }
        }
        return new long[] {from, Long.MAX_VALUE};
    }

    /** Reads the name of the first run with timestamps; reads a record where the range begins within a run. */
    @Override
    public long minTimestampMicros(long from, long to) {
        return firstTimed(from, to)
                .map(each -> each.first() >= from && each.end() <= to
                        ? each.minMicros()
                        : timestampMicros(Math.max(from, each.first())))
                .orElse(0L);
    }

    /** Reads the name of the last run with timestamps; reads a record where the range ends within a run. */
    @Override
    public long maxTimestampMicros(long from, long to) {
        return lastTimed(from, to)
                .map(each -> each.first() >= from && each.end() <= to
                        ? each.maxMicros()
                        : timestampMicros(Math.min(to, each.end()) - 1))
                .orElse(0L);
    }

    @Override
    public Unread unread(long from, long to) {
        return new Unread(
                estimatedBytes(from, to),
                firstTimed(from, to).map(each -> timeWithin(each, from)).orElse(0L));
    }

    // As if the records of a run were pushed at equal distances.
    private static long timeWithin(RunName run, long offset) {
        double part = (double) Math.max(0, offset - run.first()) / run.count();
        return run.minMicros() + (long) (part * (run.maxMicros() - run.minMicros()));
    }

    // One that is not retained any more is reported by its task.
    private long timestampMicros(long offset) {
        try {
            return runs.timestampMicros(offset);
        } catch (OutOfRangeException e) {
            return 0;
        }
    }

    @Override
    public Map<String, Long> committedOffsets() {
        return view.committedOffsets(id());
    }

    @Override
    public List<String> hosts(long from, long to) {
        return listed().hosts(from, to).stream()
                .filter(each -> !each.equals(THIS_HOST))
                .toList();
    }

    @Override
    public int maxReaders() {
        return Integer.MAX_VALUE;
    }

    @Override
    public SequentialReader reader(long from, long to, boolean skipsDamage) {
        return new RunRecords(listed().reader(from, to, skipsDamage));
    }

    /** Does nothing: the archive is closed as a whole. */
    @Override
    public void close() {}
}
