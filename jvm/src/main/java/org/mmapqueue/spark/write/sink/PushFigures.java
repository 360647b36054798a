package org.mmapqueue.spark.write.sink;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Counts and waits of the driver's part of one write, or of one epoch. Thread-safe. */
public final class PushFigures {
    private final LongAdder records = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder segments = new LongAdder();
    private final LongAdder lockNanos = new LongAdder();
    private final LongAdder roomNanos = new LongAdder();
    private final LongAdder commitNanos = new LongAdder();
    private final Supplier<PushFigures> before;
    private final Consumer<PushFigures> onEnd;

    /**
     * Starts with all figures 0.
     *
     * @param before gives the figures of the write before, or null if there was none
     * @param onEnd receives these figures when the commit has ended or failed
     */
    public PushFigures(Supplier<PushFigures> before, Consumer<PushFigures> onEnd) {
        this.before = before;
        this.onEnd = onEnd;
    }

    /**
     * How long the write before has waited for room.
     *
     * @return ms; 0 if there was none
     */
    public long roomWaitBeforeMillis() {
        PushFigures other = before.get();
        return other == null ? 0 : other.roomWaitMillis();
    }

    /** Counts the push to a partition. */
    void pushed(long recordCount, long logBytes, long segmentCount) {
        records.add(recordCount);
        bytes.add(logBytes);
        segments.add(segmentCount);
    }

    void waitedForLock(long nanos) {
        lockNanos.add(nanos);
    }

    void waitedForRoom(long nanos) {
        roomNanos.add(nanos);
    }

    void committed(long nanos) {
        commitNanos.add(nanos);
        onEnd.accept(this);
    }

    /** Segments that received rows, summed over partitions. */
    long segments() {
        return segments.sum();
    }

    /** The wait for commits of other writes of the queue, in ms. */
    long lockWaitMillis() {
        return TimeUnit.NANOSECONDS.toMillis(lockNanos.sum());
    }

    /** The wait for room, in ms, summed over partitions. */
    long roomWaitMillis() {
        return TimeUnit.NANOSECONDS.toMillis(roomNanos.sum());
    }

    /** The duration of verification and push, with all waits, in ms. */
    long commitMillis() {
        return TimeUnit.NANOSECONDS.toMillis(commitNanos.sum());
    }

    /**
     * The figures by name, for the query's progress.
     *
     * @return numbers as text
     */
    public Map<String, String> figures() {
        Map<String, String> figures = new LinkedHashMap<>();
        figures.put("records_written", Long.toString(records.sum()));
        figures.put("bytes_written", Long.toString(bytes.sum()));
        figures.put("segments_written", Long.toString(segments()));
        figures.put("lock_wait_seconds", seconds(lockNanos));
        figures.put("room_wait_seconds", seconds(roomNanos));
        figures.put("commit_seconds", seconds(commitNanos));
        return figures;
    }

    private static String seconds(LongAdder nanos) {
        return Double.toString(nanos.sum() / 1e9);
    }
}
