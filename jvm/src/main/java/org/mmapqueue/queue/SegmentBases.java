package org.mmapqueue.queue;

import java.io.IOException;
import java.util.Arrays;

import org.mmapqueue.segment.Segment;

/**
 * The base index and the base timestamp of segments, as their headers have them. What was looked at is kept, for some
 * thousand segments: it holds for as long as the segment is not given to a later one. Not thread-safe.
 */
final class SegmentBases {
    private static final int BITS = 12;
    /** Spreads ids that are multiples of a power of two, as those of a search are: 2^64 by the golden ratio. */
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final LogReaderV2 reader;
    private final Retained retained;
    /** One more than the id; 0 where there is none. */
    private final long[] keys = new long[1 << BITS];
    private final long[] indexes = new long[1 << BITS];
    private final long[] timestamps = new long[1 << BITS];

    /** Says whether a segment still holds what it held. */
    @FunctionalInterface
    interface Retained {
        /**
         * To be called behind the loads in question.
         *
         * @throws org.mmapqueue.errors.CorruptException when the segment may have been given to a later one
         */
        void check(long id);
    }

    /**
     * Nothing is kept yet.
     *
     * @param reader looks at headers; is left at the segment, and lets go of it
     */
    SegmentBases(LogReaderV2 reader, Retained retained) {
        this.reader = reader;
        this.retained = retained;
    }

    /** The number of the first record that starts in the segment or behind it. */
    long index(long id) throws IOException {
        return indexes[slot(id)];
    }

    /** The newest timestamp of the records that start before the segment, µs; 0 when there was none. */
    long timestamp(long id) throws IOException {
        return timestamps[slot(id)];
    }

    private int slot(long id) throws IOException {
        int slot = (int) (id * SPREAD >>> Long.SIZE - BITS);
        if (keys[slot] != id + 1) {
            reader.moveTo(reader.geometry.position(id, reader.geometry.dataStart()));
            Segment segment = reader.checkedSegment();
            long index = segment.baseIndex();
            long timestamp = segment.baseTimestamp();
            reader.leave();
            retained.check(id);
            keys[slot] = id + 1;
            indexes[slot] = index;
            timestamps[slot] = timestamp;
        }
        return slot;
    }

    /** Forgets all. */
    void clear() {
        Arrays.fill(keys, 0);
    }
}
