package org.mmapqueue.consume;

import java.util.Arrays;

/**
 * Records ordered by the time at which they are due, then by offset: a binary heap of primitives. Not thread-safe: the
 * consumer's lock guards it.
 */
final class DelayQueue {
    private static final int FIRST_LENGTH = 16;

    private long[] times = new long[FIRST_LENGTH];
    private long[] offsets = new long[FIRST_LENGTH];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    void clear() {
        size = 0;
    }

    /** The time at which the first record is due, in ms of the caller's clock. */
    long time() {
        return times[0];
    }

    /** The offset of the first record. */
    long offset() {
        return offsets[0];
    }

    void add(long time, long offset) {
        if (size == times.length) {
            times = Arrays.copyOf(times, 2 * size);
            offsets = Arrays.copyOf(offsets, 2 * size);
        }
        int at = size++;
        while (at > 0) {
            int above = at - 1 >>> 1;
            if (!isBefore(time, offset, above)) {
                break;
            }
            move(above, at);
            at = above;
        }
        times[at] = time;
        offsets[at] = offset;
    }

    /** Removes the first record. */
    void remove() {
        long time = times[--size];
        long offset = offsets[size];
        int at = 0;
        for (int below = 1; below < size; below = 2 * at + 1) {
            if (below + 1 < size && isBefore(times[below + 1], offsets[below + 1], below)) {
                below++;
            }
            if (!isBefore(times[below], offsets[below], time, offset)) {
                break;
            }
            move(below, at);
            at = below;
        }
        times[at] = time;
        offsets[at] = offset;
    }

    private boolean isBefore(long time, long offset, int other) {
        return isBefore(time, offset, times[other], offsets[other]);
    }

    private static boolean isBefore(long time, long offset, long otherTime, long otherOffset) {
        return time < otherTime || time == otherTime && offset < otherOffset;
    }

    private void move(int from, int to) {
        times[to] = times[from];
        offsets[to] = offsets[from];
    }
}
