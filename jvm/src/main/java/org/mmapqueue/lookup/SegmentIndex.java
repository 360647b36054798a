package org.mmapqueue.lookup;

import java.util.Arrays;

/**
 * A sparse index of one segment: one entry for every {@code spacing} records, as far as the segment has been walked, and
 * one for the end of the walk. When it is full, every other entry is dropped and the spacing doubles. Published records
 * do not change, so an entry is valid until the segment is overwritten. Not thread-safe.
 *
 * <p>Entries are numbered from 0; the last one, {@link #last}, is the end of the walk.
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
     * An index with the first entry alone.
     *
     * @param base the offset of the first record that starts here
     * @param timestamp the newest timestamp before it, µs
     * @param offset the byte at which it starts in the segment; the segment size if none does
     */
    SegmentIndex(long id, long base, long timestamp, int offset) {
        this.id = id;
        this.base = base;
        store(offset, timestamp);
        end(base, offset, timestamp);
    }

    /** The walk has reached record {@code number}, the one after the last entry's. */
    void add(long number, int offset, long timestamp) {
        end(number, offset, timestamp);
        if ((number - base) % spacing == 0) {
            if (size == MOST) {
                thinOut(); // an even number of entries, so the new one is the next multiple of the new spacing
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

    /** The entry of the end of the walk. */
    int last() {
        return size;
    }

    /** The offset of the record of an entry. */
    long number(int entry) {
        return entry == size ? lastNumber : base + entry * spacing;
    }

    /** The byte at which it begins in the segment. */
    int offset(int entry) {
        return entry == size ? lastOffset : offsets[entry];
    }

    /** The newest timestamp before it, µs. */
    long timestamp(int entry) {
        return entry == size ? lastTimestamp : timestamps[entry];
    }

    /** The last entry at or before record {@code number}, which is not below the first one's. */
    int floorOfNumber(long number) {
        return number >= lastNumber ? size : (int) ((number - base) / spacing);
    }

    /** The last entry at or before a byte of the segment; the first one if there is none. */
    int floorOfOffset(int offset) {
        if (offset >= lastOffset) {
            return size;
        }
        int found = Arrays.binarySearch(offsets, 0, size, offset);
        return found >= 0 ? found : Math.max(0, -found - 2);
    }

    /** The last entry before which all records are older than {@code micros}; the first one if there is none. */
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

    /** The capacity in entries. */
    int room() {
        return offsets.length;
    }
}
