package org.mmapqueue.lookup;

import java.util.Arrays;

/**
 * Where the records of one segment begin, sparsely: one place for every {@code spacing} records, as far as the segment
 * has been walked, and the place where the walk has ended. When there are too many places every other one is dropped
 * and the spacing doubles. What has been published in a segment does not change, so a place holds for as long as the
 * segment is not given to a later one. Not thread-safe.
 *
 * <p>Places are numbered from 0; the last one, {@link #last}, is where the walk has ended.
 */
final class SegmentIndex {
    private static final int MOST = 1024;
    private static final int FIRST_SPACING = 16;

    /** The segment. */
    final long id;

    private final long base;
    private int[] offsets = new int[8];
    private long[] timestamps = new long[8];
    private int size;
    private long spacing = FIRST_SPACING;
    private long lastNumber;
    private int lastOffset;
    private long lastTimestamp;

    /**
     * An index that knows the first place alone.
     *
     * @param base the number of the first record that starts here
     * @param timestamp the newest one before it, µs
     * @param offset where it starts in the segment; the segment's size when none does
     */
    SegmentIndex(long id, long base, long timestamp, int offset) {
        this.id = id;
        this.base = base;
        store(offset, timestamp);
        end(base, offset, timestamp);
    }

    /** The walk has come to record {@code number}, the one behind the last place's. */
    void add(long number, int offset, long timestamp) {
        end(number, offset, timestamp);
        if ((number - base) % spacing == 0) {
            if (size == MOST) {
                thinOut(); // an even number of places, so the new one is the next multiple of the new spacing
            }
            store(offset, timestamp);
        }
    }

    private void end(long number, int offset, long timestamp) {
        lastNumber = number;
        lastOffset = offset;
        lastTimestamp = timestamp;
    }

    private void store(int offset, long timestamp) {
        if (size == offsets.length) {
            offsets = Arrays.copyOf(offsets, 2 * size);
            timestamps = Arrays.copyOf(timestamps, 2 * size);
        }
        offsets[size] = offset;
        timestamps[size] = timestamp;
        size++;
    }

    private void thinOut() {
        size = (size + 1) / 2;
        for (int i = 1; i < size; i++) {
            offsets[i] = offsets[2 * i];
            timestamps[i] = timestamps[2 * i];
        }
        spacing *= 2;
    }

    /** The place where the walk has ended. */
    int last() {
        return size;
    }

    /** The number of the record that begins at a place. */
    long number(int place) {
        return place == size ? lastNumber : base + place * spacing;
    }

    /** Where in the segment it begins. */
    int offset(int place) {
        return place == size ? lastOffset : offsets[place];
    }

    /** The newest timestamp before it, µs. */
    long timestamp(int place) {
        return place == size ? lastTimestamp : timestamps[place];
    }

    /** The last place at or before record {@code number}, which is not below the first one's. */
    int floorOfNumber(long number) {
        return number >= lastNumber ? size : (int) ((number - base) / spacing);
    }

    /** The last place at or before an offset; the first one when there is none. */
    int floorOfOffset(int offset) {
        if (offset >= lastOffset) {
            return size;
        }
        int found = Arrays.binarySearch(offsets, 0, size, offset);
        return found >= 0 ? found : Math.max(0, -found - 2);
    }

    /** The last place before which everything is older than {@code micros}; the first one when there is none. */
    int floorOfTime(long micros) {
        if (lastTimestamp < micros) {
            return size;
        }
        int low = 0;
        int high = size - 1;
        while (low < high) {
            int middle = low + high + 1 >>> 1;
            if (timestamps[middle] < micros) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /** How many places there is memory for. */
    int room() {
        return offsets.length;
    }
}
