package org.mmapqueue.lookup;

import java.util.Arrays;

/**
 * A sparse index of one segment: an entry for every {@code spacing}th record, as far as the segment has been walked,
 * and an entry for the end of the walk. When it is full, every other entry is dropped and the spacing doubles.
 * Published records do not change, so an entry is valid until the segment is overwritten. Not thread-safe.
 *
 * <p>Entries are numbered from 0; the last one, {@link #last}, is the end of the walk.
 */
final class SegmentIndex {
    /** So many that in a segment of 64 MiB a read of a record of 1 KiB walks over 4 others, on average. */
    private static final int MOST = 8192;

    private static final int FIRST_SPACING = 8;

    /** The segment's id. */
    final long id;

    private final long base;
    private int[] bytes = new int[8];
    /** Offsets of records minus the base: at least the spacing apart, or more where a gap lies between them. */
    private int[] records = new int[8];

    private long[] timestamps = new long[8];
    private int size;
    private long spacing = FIRST_SPACING;
    /** Number of records that were walked over. */
    private long walked;

    private long lastOffset;
    private int lastByte;
    private long lastTimestamp;

    /**
     * Makes an index with the first entry alone.
     *
     * @param base the offset of the first record that starts in the segment
     * @param timestamp the newest timestamp before that record, in µs
     * @param at the byte at which that record starts in the segment; the segment size if none does
     */
    SegmentIndex(long id, long base, long timestamp, int at) {
        this.id = id;
        this.base = base;
        store(base, at, timestamp);
        end(base, at, timestamp);
    }

    /** Notes that the walk has reached the record with this offset, which follows the last entry's record. */
    void add(long offset, int at, long timestamp) {
        end(offset, at, timestamp);
        walked++;
        if (walked % spacing == 0) {
            if (size == MOST) {
                thinOut(); // an even number of entries, so the new one is the next multiple of the new spacing
            }
            store(offset, at, timestamp);
        }
    }

    private void end(long offset, int at, long timestamp) {
        lastOffset = offset;
        lastByte = at;
        lastTimestamp = timestamp;
    }

    private void store(long offset, int at, long timestamp) {
        if (size == bytes.length) {
            records = Arrays.copyOf(records, 2 * size);
            bytes = Arrays.copyOf(bytes, 2 * size);
            timestamps = Arrays.copyOf(timestamps, 2 * size);
        }
        records[size] = (int) (offset - base); // less than 2^26, as the second word of a record has it
        bytes[size] = at;
        timestamps[size] = timestamp;
        size++;
    }

    /** Drops every other entry, and the memory for them. */
    void shrink() {
        thinOut();
        records = Arrays.copyOf(records, size);
        bytes = Arrays.copyOf(bytes, size);
        timestamps = Arrays.copyOf(timestamps, size);
    }

    private void thinOut() {
        size = (size + 1) / 2;
        for (int i = 1; i < size; i++) {
            records[i] = records[2 * i];
            bytes[i] = bytes[2 * i];
            timestamps[i] = timestamps[2 * i];
        }
        spacing *= 2;
    }

    /** The number of the last entry, the end of the walk. */
    int last() {
        return size;
    }

    /** The offset of an entry's record. */
    long offset(int entry) {
        return entry == size ? lastOffset : base + records[entry];
    }

    /** The byte at which an entry's record begins in the segment. */
    int at(int entry) {
        return entry == size ? lastByte : bytes[entry];
    }

    /** The newest timestamp before an entry's record, in µs. */
    long timestamp(int entry) {
        return entry == size ? lastTimestamp : timestamps[entry];
    }

    /** The last entry at or before the record with this offset, which is not below the first entry's record. */
    int floorOfOffset(long offset) {
        return offset >= lastOffset ? size : floor(records, (int) (offset - base));
    }

    /** The last entry at or before a byte of the segment; the first entry if no entry is. */
    int floorOfByte(int at) {
        return at >= lastByte ? size : floor(bytes, at);
    }

    private int floor(int[] keys, int key) {
        int found = Arrays.binarySearch(keys, 0, size, key);
        return found >= 0 ? found : Math.max(0, -found - 2);
    }

    /** The last entry before which all records are older than {@code micros}; the first entry if no entry is. */
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

    /** The capacity in number of entries. */
    int room() {
        return bytes.length;
    }
}
