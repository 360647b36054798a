package org.mmapqueue.tool.scan;

import java.io.IOException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Finds the next position after a fault at which the log is readable: an intact record, pad or segment header. Not
 * thread-safe.
 */
record Resync(Slots slots, WalkRange range, Geometry geometry, RecordScan scan, LostBase lost) {
    /** The number of no record. */
    static final long UNKNOWN = -1;

    /**
     * A position at which a record begins or the log ends.
     *
     * @param base the base of its segment
     * @param number the offset of the intact record that begins there; {@link #UNKNOWN} for none
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
        long limit = end != Long.MAX_VALUE ? end : Math.max(begin, geometry.position(id, from));
        LogPosition atEnd = new LogPosition(geometry.segmentOfEnd(limit), geometry.offsetOfEnd(limit), base, UNKNOWN);
        for (long at = id; at <= range.lastId(); at++) {
            Slot each = slots.get(at);
            SegmentHeader header = each.header();
            boolean whole = at > id && header != null && header.epoch() >= base.epoch();
            if (whole && header.firstRecord() != 0) {
                return geometry.position(at, header.firstRecord()) > end
                        ? atEnd
                        : new LogPosition(at, header.firstRecord(), SegmentBase.of(header), UNKNOWN);
            }
            if (!whole && each.bytes() != null) {
                LogPosition here = find(
                        each,
                        at == id ? from + Long.BYTES : geometry.dataStart(),
                        at == id ? base : lost.of(each, base, UNKNOWN),
                        expected,
                        end);
                if (here != null) {
                    return here;
                }
            }
        }
        return atEnd;
    }

    /**
     * The end of the last bytes that are not zero, in this segment or later ones of the log; {@code from} if all are
     * zero.
     */
    LogPosition lastBytes(long id, int from, SegmentBase base) throws IOException {
        for (long at = range.lastId(); at >= id; at--) {
            Slot each = slots.get(at);
            boolean stranded = at > id && each.header() != null && each.header().epoch() < base.epoch();
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
        Slot next = slots.get(slot.id() + 1);
        boolean follows =
                next.header() != null && next.header().epoch() >= slot.header().epoch();
        return follows || end != Long.MAX_VALUE || after < begin;
    }

    /** The byte at which the first record begins, if the header of the log's first segment is damaged. */
    LogPosition first(Slot slot, long end, long begin) throws IOException {
        SegmentBase none = new SegmentBase(firstEpoch(slot), 0, 0);
        SegmentBase base = slot.bytes() == null ? none : lost.of(slot, none, slot.id() == 0 ? 0 : UNKNOWN);
        if (slot.id() == 0) {
            return new LogPosition(0, geometry.dataStart(), base, 0);
        }
        LogPosition here = slot.bytes() == null ? null : find(slot, geometry.dataStart(), base, UNKNOWN, end);
        return here != null ? here : after(slot.id(), geometry.segmentSize(), base, UNKNOWN, end, begin);
    }

    // Finds an intact record or pad. A record that is no later one is part of a payload. A record with an offset of the
    // next segment is dead: a recovery has cut it off.
    private LogPosition find(Slot in, int from, SegmentBase base, long expected, long end) throws IOException {
        SegmentHeader next = slots.get(in.id() + 1).header();
        long limit = next == null || next.epoch() < base.epoch() ? Long.MAX_VALUE : next.baseOffset();
        for (int at = from; at < geometry.segmentSize() && geometry.position(in.id(), at) < end; at += Long.BYTES) {
            RecordScan.Kind kind = scan.look(in, at, base);
            if (kind == RecordScan.Kind.PAD) {
                return new LogPosition(in.id(), at, base, UNKNOWN);
            }
            if (kind.isWhole() && scan.recordOffset >= expected && scan.recordOffset < limit) {
                return new LogPosition(in.id(), at, base, scan.recordOffset);
            }
        }
        return null;
    }

    /**
     * Returns the segment in which the epoch of a position begins: the position's own segment; or, if that one begins
     * with the rest of a record, the previous segment, which is lost.
     *
     * @param previous the last segment of the previous epoch
     */
    long beginning(LogPosition from, long previous) throws IOException {
        SegmentHeader header = slots.get(from.id()).header();
        boolean isRest = header != null && header.firstRecord() != geometry.dataStart();
        return isRest && from.id() - 1 > previous ? from.id() - 1 : from.id();
    }

    // The epoch in the damaged header if it is possible; otherwise that of the next segment.
    private long firstEpoch(Slot slot) throws IOException {
        Slot next = slots.get(slot.id() + 1);
        long most =
                next.header() != null ? next.header().epoch() : range.facts().epoch();
        long read = slot.bytes() == null
                ? 0
                : SegmentHeader.decode(slot.bytes().head(SegmentHeader.LENGTH)).epoch();
        return read >= 1 && read < most ? read : most;
    }
}
