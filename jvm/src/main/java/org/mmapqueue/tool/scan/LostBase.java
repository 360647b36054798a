package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;

/**
 * The base of a segment with a damaged header. Records store the lowest bits of offset and timestamp, so lower bounds that
 * the neighbours of the segment give are near enough.
 */
record LostBase(Slots slots) {
    /** Half of the span that the bits of a timestamp distinguish, in µs. */
    private static final long HALF_SPAN = RecordDescriptor.MAX_MILLIS / 2 * 1000;

    /**
     * Returns the base of a segment: its epoch, and lower bounds of offsets and timestamps.
     *
     * @param damaged a segment with bytes and without a header
     * @param before the base of the segment before it; of time 0 if there is none
     * @param expected the lowest offset that a record of the segment can have; -1 for unknown
     */
    SegmentBase of(Slot damaged, SegmentBase before, long expected) throws IOException {
        SegmentHeader next = slots.get(damaged.id() + 1).header();
        next = next != null && next.epoch() >= before.epoch() ? next : null;
        long offset = expected >= 0 || next == null
                ? Math.max(expected, before.offset())
                : Math.max(0, next.baseOffset() - RecordDescriptor.OFFSET_MASK);
        long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        long near = next == null ? now : next.baseTime();
        long time = before.time() != 0 ? before.time() : Math.max(0, near - HALF_SPAN) / 1000 * 1000;
        return new SegmentBase(epoch(damaged, before.epoch(), next), offset, time);
    }

    private static long epoch(Slot damaged, long before, SegmentHeader next) throws IOException {
        // A record continues in the next segment: both are of one epoch.
        if (next != null && next.firstRecord() != SegmentHeader.LENGTH) {
            return next.epoch();
        }
        ByteBuffer head = damaged.bytes().head(SegmentHeader.LENGTH);
        SegmentHeader rest = SegmentHeader.decode(head);
        boolean isOwn = SegmentHeader.check(head) != null && rest.id() == damaged.id() && rest.epoch() >= 1;
        boolean isPossible = isOwn && rest.epoch() >= before && (next == null || rest.epoch() <= next.epoch());
        return isPossible ? rest.epoch() : before;
    }
}
