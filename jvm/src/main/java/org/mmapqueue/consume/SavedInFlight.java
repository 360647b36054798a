package org.mmapqueue.consume;

import java.util.Arrays;

/**
 * Attempts and acks from before the queue was closed, of records that are still to be popped. Queries must have
 * ascending offsets. Not thread-safe: the consumer's lock guards it.
 */
final class SavedInFlight {
    /** Returned by {@link #times} for an acked record. */
    static final int ACKED = -1;

    private long[] ends = new long[4];
    private int[] times = new int[4];
    private int size;
    private int at;
    private long position;

    /** Removes all runs. */
    void clear() {
        size = 0;
        at = 0;
    }

    /** Adds a run after the last one; the first run begins with record {@code first}. */
    void add(long first, int records, int popped) {
        if (size == ends.length) {
            ends = Arrays.copyOf(ends, 2 * size);
            times = Arrays.copyOf(times, 2 * size);
        }
        ends[size] = end(first) + records;
        times[size++] = popped;
    }

    /** Sets the position after the last record. */
    void endAt(long end) {
        position = end;
    }

    /** The position after the last record. */
    long position() {
        return position;
    }

    /** The offset after the last run; {@code first} if no run exists. */
    long end(long first) {
        return size == 0 ? first : ends[size - 1];
    }

    /**
     * The number of consecutive acked records from {@code offset} on, which is at most the next offset to be queried.
     */
    long acked(long offset) {
        long acked = 0;
        long from = offset;
        for (int run = at; run < size; run++) {
            if (times[run] == ACKED) {
                acked += Math.max(0, ends[run] - from);
            }
            from = Math.max(from, ends[run]);
        }
        return acked;
    }

    /** Whether the last run was passed. */
    boolean isOver() {
        return at == size;
    }

    /** The attempts of a record, or {@link #ACKED}; offsets must not decrease. */
    int times(long offset) {
        while (at < size && ends[at] <= offset) {
            at++;
        }
        return at < size ? times[at] : 0;
    }
}
