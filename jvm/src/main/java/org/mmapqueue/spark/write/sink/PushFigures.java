package org.mmapqueue.spark.write.sink;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** What the driver's part of one write, or of one epoch, has done and waited for. Any number of threads. */
public final class PushFigures {
    private final LongAdder segments = new LongAdder();
    private final LongAdder lockNanos = new LongAdder();
    private final LongAdder roomNanos = new LongAdder();
    private final LongAdder commitNanos = new LongAdder();
    private final Consumer<PushFigures> told;

    /**
     * Of a write that has not begun.
     *
     * @param told is told of these figures when the write has committed, or failed to
     */
    public PushFigures(Consumer<PushFigures> told) {
        this.told = told;
    }

    void wroteIn(long count) {
        segments.add(count);
    }

    void waitedForLock(long nanos) {
        lockNanos.add(nanos);
    }

    void waitedForRoom(long nanos) {
        roomNanos.add(nanos);
    }

    void committed(long nanos) {
        commitNanos.add(nanos);
        told.accept(this);
    }

    /** Segments that rows were pushed into, summed over partitions. */
    long segments() {
        return segments.sum();
    }

    /** Ms that it has waited for other writes of the queue to commit. */
    long lockWaitMillis() {
        return TimeUnit.NANOSECONDS.toMillis(lockNanos.sum());
    }

    /** Ms that it has waited for room, summed over partitions. */
    long roomWaitMillis() {
        return TimeUnit.NANOSECONDS.toMillis(roomNanos.sum());
    }

    /** Ms of checking and pushing, with all waits. */
    long commitMillis() {
        return TimeUnit.NANOSECONDS.toMillis(commitNanos.sum());
    }

    /**
     * By name, as Spark shows them in a query's progress.
     *
     * @return numbers as text
     */
    public Map<String, String> figures() {
        Map<String, String> figures = new LinkedHashMap<>();
        figures.put(WriteMetrics.SEGMENTS, Long.toString(segments()));
        figures.put(WriteMetrics.LOCK_WAIT, Long.toString(lockWaitMillis()));
        figures.put(WriteMetrics.ROOM_WAIT, Long.toString(roomWaitMillis()));
        figures.put(WriteMetrics.COMMIT, Long.toString(commitMillis()));
        return figures;
    }
}
