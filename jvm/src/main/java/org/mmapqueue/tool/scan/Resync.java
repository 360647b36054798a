package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Finds the next position after a fault at which the log is readable: an intact record, pad or segment header. Not
 * thread-safe.
 */
record Resync(Slots slots, WalkRange range, Geometry geometry, RecordScan scan) {
    /** A position at which a record begins or the log ends, and the epoch of its segment. */
    record LogPosition(long id, int offset, long epoch) {
        long position(Geometry geometry) {
            return geometry.position(id, offset == geometry.dataStart() ? 0 : offset);
        }
    }

    /**
     * Returns the next readable position after a fault.
     *
     * @param id the segment of the fault
     * @param from the byte of the fault in that segment
     * @param epoch the segment's epoch
     * @param end the log end; Long.MAX_VALUE when unknown
     * @param begin the log does not end before this position
     * @return the position; the log end if none exists
     */
    LogPosition after(long id, int from, long epoch, long end, long begin) throws IOException {
        long limit = end != Long.MAX_VALUE ? end : Math.max(begin, geometry.position(id, from));
        LogPosition atEnd = new LogPosition(geometry.segmentOfEnd(limit), geometry.offsetOfEnd(limit), epoch);
        for (long at = id; at <= range.lastId(); at++) {
            Slot each = slots.get(at);
            SegmentHeader header = each.header();
            boolean whole = at > id && header != null && header.epoch() >= epoch;
            if (whole && header.firstRecord() != 0) {
                return geometry.position(at, header.firstRecord()) > end
                        ? atEnd
                        : new LogPosition(at, header.firstRecord(), header.epoch());
            }
            if (!whole && each.bytes() != null) {
                LogPosition here = find(
                        each,
                        at == id ? from + Long.BYTES : geometry.dataStart(),
                        at == id ? List.of(epoch) : epochs(each, epoch),
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
    LogPosition lastBytes(long id, int from, long epoch) throws IOException {
        for (long at = range.lastId(); at >= id; at--) {
            Slot each = slots.get(at);
            boolean stranded = at > id && each.header() != null && each.header().epoch() < epoch;
            int first = at == id ? from : geometry.dataStart();
            for (int last = geometry.segmentSize() - Long.BYTES;
                    each.bytes() != null && !stranded && last >= first;
                    last -= Long.BYTES) {
                if (each.bytes().getLong(last) != 0) {
                    return new LogPosition(at, last + Long.BYTES, epoch);
                }
            }
        }
        return new LogPosition(id, from, epoch);
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
        long epoch = firstEpoch(slot);
        if (slot.id() == 0) {
            return new LogPosition(0, geometry.dataStart(), epoch);
        }
        LogPosition here = slot.bytes() == null ? null : find(slot, geometry.dataStart(), List.of(epoch), end);
        return here != null ? here : after(slot.id(), geometry.segmentSize(), epoch, end, begin);
    }

    private LogPosition find(Slot in, int from, List<Long> epochs, long end) throws IOException {
        for (int at = from; at < geometry.segmentSize() && geometry.position(in.id(), at) < end; at += Long.BYTES) {
            for (long each : epochs) {
                RecordScan.Kind kind = scan.look(in, at, each);
                if (kind.isWhole()) {
                    return new LogPosition(in.id(), at, each);
                }
                if (kind == RecordScan.Kind.NOTHING) {
                    break;
                }
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

    /** The epoch of a segment with a damaged header: the one that makes the checksum of its first record right. */
    long epochOf(Slot damaged, long before) throws IOException {
        for (long each : epochs(damaged, before)) {
            if (scan.look(damaged, geometry.dataStart(), each).isWhole()) {
                return each;
            }
        }
        return before;
    }

    private List<Long> epochs(Slot damaged, long before) throws IOException {
        List<Long> all = new ArrayList<>(List.of(before));
        Slot next = slots.get(damaged.id() + 1);
        if (next.header() != null && next.header().epoch() > before) {
            all.add(next.header().epoch());
        }
        long read =
                SegmentHeader.decode(damaged.bytes().head(SegmentHeader.LENGTH)).epoch();
        if (read > before && !all.contains(read)) {
            all.add(read);
        }
        return all;
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
