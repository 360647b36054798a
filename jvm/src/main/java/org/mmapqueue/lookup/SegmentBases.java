package org.mmapqueue.lookup;

import java.io.IOException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.segment.Segment;

/**
 * A cache of the base index and the base timestamp of segments, read from their headers, in at most 1.5 MiB. An entry
 * is valid until its segment is overwritten. Not thread-safe.
 */
final class SegmentBases {
    private static final int FEWEST_BITS = 8;
    /**
     * Bits of the largest table: 64 Ki segments, 8 GiB of 128 KiB each. Mapping and reading a segment costs more than
     * the rest of a search.
     */
    private static final int MOST_BITS = 16;
    /**
     * Multiplier of the hash: 2^64 by the golden ratio. Spreads the ids that a search probes, which are multiples of
     * powers of two.
     */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final LogReaderV2 reader;
    private final Retained retained;
    private int bits;
    private int size;
    /** Segment id + 1; 0 for an empty entry. Each id maps to one entry, which the latest id overwrites. */
    private long[] keys;

    private long[] indexes;
    private long[] timestamps;

    /** Checks that a segment has not been overwritten. */
    @FunctionalInterface
    interface Retained {
        /**
         * Must be called after the loads from the segment.
         *
         * @throws org.mmapqueue.errors.CorruptException if the segment may be overwritten
         */
        void check(long id);
    }

    /**
     * An empty cache.
     *
     * @param reader reads headers; it is left at the segment, which is unpinned
     */
    SegmentBases(LogReaderV2 reader, Retained retained) {
        this.reader = reader;
        this.retained = retained;
        clear();
    }

    /** The base index: offset of the first record that starts in the segment or after it. */
    long index(long id) throws IOException {
        int slot = slot(id); // computed first, as it may replace the arrays
        return indexes[slot];
    }

    /** The base timestamp: the newest one of the records that start before the segment, in µs; 0 for none. */
    long timestamp(long id) throws IOException {
        int slot = slot(id);
        return timestamps[slot];
    }

    private int slot(long id) throws IOException {
        int slot = slotOf(id);
        if (keys[slot] == id + 1) {
            return slot;
        }
        reader.moveTo(reader.geometry().position(id, reader.geometry().dataStart()));
        Segment segment = reader.checkedSegment();
        long index = segment.baseIndex();
        long timestamp = segment.baseTimestamp();
        reader.leave();
        retained.check(id);
        if (2 * size > keys.length && bits < MOST_BITS) {
            grow();
        }
        return put(id + 1, index, timestamp);
    }

    private int slotOf(long id) {
        return (int) (id * SPREAD >>> Long.SIZE - bits);
    }

    private int put(long key, long index, long timestamp) {
        int slot = slotOf(key - 1);
        size += keys[slot] == 0 ? 1 : 0;
        keys[slot] = key;
        indexes[slot] = index;
        timestamps[slot] = timestamp;
        return slot;
    }

    private void grow() {
        long[] oldKeys = keys;
        long[] oldIndexes = indexes;
        long[] oldTimestamps = timestamps;
        allocate(bits + 1);
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != 0) {
                put(oldKeys[i], oldIndexes[i], oldTimestamps[i]);
            }
        }
    }

    private void allocate(int newBits) {
        bits = newBits;
        size = 0;
        keys = new long[1 << bits];
        indexes = new long[1 << bits];
        timestamps = new long[1 << bits];
    }

    /** Empties the cache. */
    void clear() {
        allocate(FEWEST_BITS);
    }
}
