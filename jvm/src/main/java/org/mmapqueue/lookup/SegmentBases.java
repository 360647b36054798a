package org.mmapqueue.lookup;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.segment.Segment;

/**
 * A cache of the base offset and the base timestamp of segments, read from their headers. An entry is valid until its
 * segment is overwritten. A full cache is emptied. Not thread-safe.
 */
final class SegmentBases {
    /**
     * The maximum number of entries, in about 6 MiB: they cover 8 GiB in segments of 128 KiB. Mapping and reading a segment costs
     * more than the rest of a search.
     */
    private static final int MOST = 1 << 16;

    /**
     * What the header of a segment tells about its records.
     *
     * @param offset the offset of the first record that starts in the segment or after it
     * @param timestamp the newest timestamp of the records that start before the segment, in µs; 0 for none
     */
    record Base(long offset, long timestamp) {}

    private final LogReaderV2 reader;
    private final LongConsumer checkRetained;
    private final Map<Long, Base> byId = new HashMap<>();

    /**
     * An empty cache.
     *
     * @param reader reads headers; it is left at the segment, which is unpinned
     * @param checkRetained throws CorruptException if a segment may be overwritten; called after the loads from it
     */
    SegmentBases(LogReaderV2 reader, LongConsumer checkRetained) {
        this.reader = reader;
        this.checkRetained = checkRetained;
    }

    /** The base offset and the base timestamp of a segment. */
    Base get(long id) throws IOException {
        Base found = byId.get(id);
        if (found == null) {
            reader.moveTo(reader.geometry().position(id, reader.geometry().dataStart()));
            Segment segment = reader.checkedSegment();
            found = new Base(segment.baseOffset(), segment.baseTime());
            reader.leave();
            checkRetained.accept(id);
            if (byId.size() == MOST) {
                byId.clear();
            }
            byId.put(id, found);
        }
        return found;
    }

    /** Empties the cache. */
    void clear() {
        byId.clear();
    }
}
