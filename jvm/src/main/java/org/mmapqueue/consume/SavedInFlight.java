package org.mmapqueue.consume;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Attempts and acks from before the queue was closed, of records that are still to be popped. Queries must have
 * ascending offsets. Not thread-safe: the consumer's lock guards it.
 */
final class SavedInFlight {
    /** Returned by {@link #times} for an acked record. */
    static final int ACKED = -1;

    /** Consecutive records with the same attempts, up to an offset. */
    private record Run(long end, int times) {}

    /** The runs that are not passed yet. */
    private final Deque<Run> runs = new ArrayDeque<>();

    private long position;

    /** Removes all runs. */
    void clear() {
        runs.clear();
    }

    /** Adds a run after the last one; the first run begins with record {@code first}. */
    void add(long first, int records, int popped) {
        runs.add(new Run(end(first) + records, popped));
    }

    /** Sets the position after the last record. */
    void endAt(long end) {
        position = end;
    }

    /** The position after the last record. */
    long position() {
        return position;
    }

    /** The offset after the last run; {@code first} if no run is left. */
    long end(long first) {
        return isOver() ? first : runs.getLast().end;
    }

    /**
     * The number of consecutive acked records from {@code offset} on, which is at most the next offset to be queried.
     */
    long acked(long offset) {
        long acked = 0;
        long from = offset;
        for (Run run : runs) {
            if (run.times == ACKED) {
                acked += Math.max(0, run.end - from);
            }
            from = Math.max(from, run.end);
        }
        return acked;
    }

    /** Whether the last run was passed. */
    boolean isOver() {
        return runs.isEmpty();
    }

    /** The attempts of a record, or {@link #ACKED}; offsets must not decrease. */
    int times(long offset) {
        while (!isOver() && runs.getFirst().end <= offset) {
            runs.removeFirst();
        }
        return isOver() ? 0 : runs.getFirst().times;
    }
}
