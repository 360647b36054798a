package org.mmapqueue.consume;

import java.util.Arrays;

/**
 * What is known of records that are still to be popped: how often they were popped before the queue was closed, and
 * which are acked. Asked in the order of the records. Not thread-safe: the consumer's claim guards it.
 */
final class SavedInFlight {
    /** What {@link #times} says of a record that is acked. */
    static final int ACKED = -1;

    private long[] ends = new long[4];
    private int[] times = new int[4];
    private int size;
    private int at;
    private long position;

    /** Nothing is known. */
    void clear() {
        size = 0;
        at = 0;
    }

    /** The next {@code records} records after those that were added before, or from {@code first} on. */
    void add(long first, int records, int popped) {
        if (size == ends.length) {
            ends = Arrays.copyOf(ends, 2 * size);
            times = Arrays.copyOf(times, 2 * size);
        }
        ends[size] = end(first) + records;
        times[size++] = popped;
    }

    /** The place behind the last record that was added. */
    void endAt(long place) {
        position = place;
    }

    /** As {@link #endAt} has said it. */
    long position() {
        return position;
    }

    /** Where knowledge ends; {@code first} when there is none. */
    long end(long first) {
        return size == 0 ? first : ends[size - 1];
    }

    /** How many records from {@code offset} on are acked: the one that is asked for next, or one before it. */
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

    /** Whether nothing is known of the record that would be asked for next, nor of any behind it. */
    boolean isOver() {
        return at == size;
    }

    /** How often a record was popped, or {@link #ACKED}; never of one before the one that was asked for last. */
    int times(long offset) {
        while (at < size && ends[at] <= offset) {
            at++;
        }
        return at < size ? times[at] : 0;
    }
}
