package org.mmapqueue.lookup;

import java.io.IOException;
import java.time.InstantSource;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Computes the log start from meta.dat; every process gets the same result. Without retention it is the low watermark.
 * With retention, acked segments are retained until they are too old, the log from them on is too large, or the writer
 * needs their slot. Records that may be lost because they were never fsynced are not retained.
 */
record LogStart(Geometry geometry, MetaPage meta, Swapper swapper, Registry registry, InstantSource clock) {

    /** The log start: the end of a record, or the start of a segment. */
    long head() throws IOException {
        registry.refresh();
        long lowWatermark = registry.lowWatermark();
        if (!meta.isRetaining()) {
            return lowWatermark;
        }
        long millis = meta.retainMillis();
        long bytes = meta.retainBytes();
        long end = meta.writing();
        long intact = meta.intact();
        long first = Math.max(geometry.segmentOf(meta.reclaimed()), geometry.segmentOf(intact));
        if (bytes > 0) {
            first = Math.max(first, geometry.segmentOf(Math.max(0, end - bytes)));
        }
        if (millis > 0) {
            // Clamped at 1970: a longer period retains everything.
            first = firstSince(Math.max(0, clock.millis() - millis) * 1000, first, geometry.segmentOfEnd(end));
        }
        return Math.min(lowWatermark, Math.max(intact, geometry.position(first, 0)));
    }

    // The first segment that may hold a record of that time or later. No record is newer than the base timestamp of the
    // next segment.
    private long firstSince(long micros, long first, long last) throws IOException {
        long low = first;
        long high = Math.max(first, last);
        while (low < high) {
            long middle = low + high >>> 1;
            if (baseTime(middle + 1) >= micros) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    private long baseTime(long id) throws IOException {
        Segment segment = swapper.pinIfThere(id, meta.fields().uuid());
        if (segment == null) {
            return 0; // overwritten since, so older than every retained segment
        }
        try {
            return segment.baseTime();
        } finally {
            swapper.unpin(segment);
        }
    }
}
