package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Finds the next position after a fault at which the log is readable: an intact record or the header of a segment. Not
 * thread-safe.
 */
record Resync(Slots slots, WalkRange range, Geometry geometry, RecordScan scan) {
    static final long UNKNOWN = -1;
    /** Half of the span that the bits of a timestamp distinguish, in µs. */
    private static final long HALF_SPAN = RecordDescriptor.MAX_MILLIS / 2 * 1000;

    /**
     * A position at which a record begins or the log ends.
     *
     * @param base the base of its segment
     * @param number the offset of the next record; {@link #UNKNOWN} possibly at the log end
     */
    record LogPosition(long id, int offset, SegmentBase base, long number) {
        long position(Geometry geometry) {
            return geometry.position(id, offset == geometry.dataStart() ? 0 : offset);
        }
    }

    /**
     * Returns the next readable position after a fault.
     *
     * @param id the segment of the fault
     * @param from the byte of the fault in that segment
     * @param base the segment's base
     * @param expected the offset of the record that is damaged; no later record has a lower one
     * @param end the log end; Long.MAX_VALUE when unknown
     * @param begin the log does not end before this position
     * @return the position; the log end if none exists
     */
    LogPosition after(long id, int from, SegmentBase base, long expected, long end, long begin) throws IOException {
        for (long at = id; at <= range.lastId(); at++) {
            Slot each = slots.get(at);
            SegmentHeader header = at == id ? null : follower(at, base.epoch());
            if (header == null && each.bytes() != null) {
                int first = at == id ? from + RecordDescriptor.SMALLEST : geometry.dataStart();
                LogPosition here = find(
                        each, first, at == id ? base : lost(each, geometry.dataStart(), base, expected), expected, end);
                if (here != null) {
                    return here;
                }
            } else if (header != null && header.firstRecord() != 0) {
                if (geometry.position(at, header.firstRecord()) > end) {
                    break;
                }
                return new LogPosition(at, header.firstRecord(), SegmentBase.of(header), header.baseOffset());
            }
        }
        boolean isKnown = end != Long.MAX_VALUE;
        long limit = isKnown ? end : Math.max(begin, geometry.position(id, from));
        long number = isKnown && end == range.end() ? range.endOffset() : UNKNOWN;
        return new LogPosition(geometry.segmentOfEnd(limit), geometry.byteOfEnd(limit), base, number);
    }

    // The header of a segment, if it can be that of the log after this epoch.
    private SegmentHeader follower(long id, long epoch) throws IOException {
        SegmentHeader header = slots.get(id).header();
        return header != null && header.epoch() >= epoch ? header : null;
    }

    // Finds an intact record. A record that is not a later one is part of a payload. A record with an offset of a later
    // segment is dead: a recovery has cut it off.
    private LogPosition find(Slot in, int from, SegmentBase base, long expected, long end) throws IOException {
        long limit = range.endOffset() >= 0 ? range.endOffset() : Long.MAX_VALUE;
        for (long at = in.id() + 1; at <= range.lastId(); at++) {
            SegmentHeader header = follower(at, base.epoch());
            if (header != null) {
                limit = header.baseOffset();
                break;
            }
        }
        for (int at = from; at < geometry.segmentSize() && geometry.position(in.id(), at) < end; at += Long.BYTES) {
            RecordScan.Kind kind = scan.look(in, at, base);
            boolean isRecord = kind == RecordScan.Kind.RECORD || kind == RecordScan.Kind.GAP;
            if (isRecord && scan.recordOffset >= expected && scan.recordOffset < limit) {
                return new LogPosition(in.id(), at, base, scan.recordOffset);
            }
        }
        return null;
    }

    /**
     * The end of the last bytes that are not zero, in this segment or later ones of the log; {@code from} if all are
     * zero.
     */
    LogPosition lastBytes(long id, int from, SegmentBase base) throws IOException {
        for (long at = range.lastId(); at >= id; at--) {
            Slot each = slots.get(at);
            boolean stranded = at > id
                    && (each.isEmpty() || each.header() != null && each.header().epoch() < base.epoch());
            int first = at == id ? from : geometry.dataStart();
            for (int last = geometry.segmentSize() - Long.BYTES;
                    each.bytes() != null && !stranded && last >= first;
                    last -= Long.BYTES) {
                if (each.bytes().getLong(last) != 0) {
                    return new LogPosition(at, last + Long.BYTES, base, UNKNOWN);
                }
            }
        }
        return new LogPosition(id, from, base, UNKNOWN);
    }

    /**
     * Whether a segment holds nothing but the middle of a record that begins before it, while the log continues after
     * it. The header of such a segment does not tell in which later segment the record ends.
     */
    boolean isRestOnly(Slot slot, long end, long begin) throws IOException {
        long after = geometry.position(slot.id() + 1, 0);
        if (slot.header() == null || slot.header().firstRecord() != 0 || after >= end || slot.id() >= range.lastId()) {
            return false;
        }
        boolean follows = follower(slot.id() + 1, slot.header().epoch()) != null;
        return follows || end != Long.MAX_VALUE || after < begin;
    }

    /** The first readable position, if the header of the log's first segment is damaged. */
    LogPosition first(Slot slot, long end, long begin) throws IOException {
        SegmentBase none = new SegmentBase(firstEpoch(slot), 0, 0);
        SegmentBase base =
                slot.bytes() == null ? none : lost(slot, geometry.dataStart(), none, slot.id() == 0 ? 0 : UNKNOWN);
        LogPosition here = slot.bytes() == null ? null : find(slot, geometry.dataStart(), base, 0, end);
        if (here != null && scan.lost == 0 && scan.timestamp != 0) {
            base = new SegmentBase(base.epoch(), base.offset(), scan.timestamp);
        }
        if (slot.id() == 0) {
            return new LogPosition(0, geometry.dataStart(), base, 0);
        }
        return here != null
                ? new LogPosition(here.id(), here.offset(), base, here.number())
                : after(slot.id(), geometry.segmentSize(), base, 0, end, begin);
    }

    // ---- segments without a header

    /**
     * The base of a segment with a damaged header: its epoch, and lower bounds of offsets and timestamps. Records store
     * the lowest bits of both, so bounds from the neighbours of the segment are near enough.
     *
     * @param first the byte at which its first record starts, as far as it is known
     * @param before the base of the segment before it; of time 0 if there is none
     * @param expected the lowest offset that a record of the segment can have; {@link #UNKNOWN} possibly without a
     *     segment before it
     */
    SegmentBase lost(Slot damaged, int first, SegmentBase before, long expected) throws IOException {
        SegmentHeader next = follower(damaged.id() + 1, before.epoch());
        long most = next != null ? next.baseOffset() : Math.max(0, range.endOffset());
        long offset = expected >= 0 ? expected : Math.max(0, most - RecordDescriptor.OFFSET_MASK);
        long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        long near = next == null ? now : next.baseTime();
        long time = before.time() != 0 ? before.time() : Math.max(0, near - HALF_SPAN) / 1000 * 1000;
        return new SegmentBase(epoch(damaged, first, before.epoch(), next), offset, time);
    }

    private long epoch(Slot damaged, int first, long before, SegmentHeader next) throws IOException {
        // A record continues in the next segment, or from the one before: both are of one epoch.
        if (next != null && next.firstRecord() != geometry.dataStart()) {
            return next.epoch();
        }
        if (first != geometry.dataStart()) {
            return before;
        }
        SegmentHeader rest = damaged.rest();
        long most = Math.max(before, next == null ? range.facts().epoch() : next.epoch());
        boolean isPossible = rest.id() == damaged.id() && rest.epoch() >= Math.max(1, before) && rest.epoch() <= most;
        // Not too low: the writer goes on in the last segment, and a record that it pushes may continue in the next
        // one.
        return isPossible ? rest.epoch() : most;
    }

    // The epoch in the damaged header if it is possible; otherwise that of the next segment.
    private long firstEpoch(Slot slot) throws IOException {
        SegmentHeader next = slots.get(slot.id() + 1).header();
        long most = next != null ? next.epoch() : range.facts().epoch();
        long read = slot.bytes() == null ? 0 : slot.rest().epoch();
        return read >= 1 && read < most ? read : most;
    }
}
