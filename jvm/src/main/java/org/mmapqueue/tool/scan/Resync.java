package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Finds the place behind a fault at which a log can be read again: a record, a pad or a segment's header that is whole.
 * Not thread-safe.
 */
final class Resync {
    private final Slots slots;
    private final WalkRange range;
    private final Geometry geometry;
    private final RecordScan scan;

    /** A place where a record begins or the log ends, and the epoch of its segment. */
    record Place(long id, int offset, long epoch) {
        long position(Geometry geometry) {
            return geometry.position(id, offset == geometry.dataStart() ? 0 : offset);
        }
    }

    Resync(Slots slots, WalkRange range, RecordScan scan) {
        this.slots = slots;
        this.range = range;
        this.geometry = slots.geometry();
        this.scan = scan;
    }

    /**
     * The next place behind this one.
     *
     * @param epoch of the segment
     * @param end where the log ends; Long.MAX_VALUE when that is to be found out
     * @param begin before this position the log does not end
     * @return the place; the log's end when there is none
     */
    Place behind(long id, int from, long epoch, long end, long begin) throws IOException {
        long limit = end != Long.MAX_VALUE ? end : Math.max(begin, geometry.position(id, from));
        Place atEnd = new Place(geometry.segmentOfEnd(limit), geometry.offsetOfEnd(limit), epoch);
        for (long at = id; at <= range.lastId(); at++) {
            Slot each = slots.get(at);
            SegmentHeader header = each.header();
            boolean whole = at > id && header != null && header.epoch() >= epoch;
            if (whole && header.firstRecord() != 0) {
                return geometry.position(at, header.firstRecord()) > end
                        ? atEnd
                        : new Place(at, header.firstRecord(), header.epoch());
            }
            if (!whole && each.bytes() != null) {
                Place here = find(
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

    /** Behind the last byte that is not zero, in this segment or one that continues the log; else this place. */
    Place lastBytes(long id, int from, long epoch) throws IOException {
        for (long at = range.lastId(); at >= id; at--) {
            Slot each = slots.get(at);
            boolean stranded = at > id && each.header() != null && each.header().epoch() < epoch;
            int first = at == id ? from : geometry.dataStart();
            for (int last = geometry.segmentSize() - Long.BYTES;
                    each.bytes() != null && !stranded && last >= first;
                    last -= Long.BYTES) {
                if (each.bytes().getLong(last) != 0) {
                    return new Place(at, last + Long.BYTES, epoch);
                }
            }
        }
        return new Place(id, from, epoch);
    }

    /**
     * Whether a segment holds nothing but a part of a record that begins before it, and the log continues behind it:
     * then it does not say where in a later segment that record ends.
     */
    boolean isRestOnly(Slot slot, long end, long begin) throws IOException {
        long behind = geometry.position(slot.id() + 1, 0);
        if (slot.header() == null || slot.header().firstRecord() != 0 || behind >= end || slot.id() >= range.lastId()) {
            return false;
        }
        Slot next = slots.get(slot.id() + 1);
        boolean follows =
                next.header() != null && next.header().epoch() >= slot.header().epoch();
        return follows || end != Long.MAX_VALUE || behind < begin;
    }

    /** Where the first record begins in the log's first segment, whose header is damaged, or the next one behind it. */
    Place first(Slot slot, long end, long begin) throws IOException {
        long epoch = firstEpoch(slot);
        if (slot.id() == 0) {
            return new Place(0, geometry.dataStart(), epoch);
        }
        Place here = slot.bytes() == null ? null : find(slot, geometry.dataStart(), List.of(epoch), end);
        return here != null ? here : behind(slot.id(), geometry.segmentSize(), epoch, end, begin);
    }

    private Place find(Slot in, int from, List<Long> epochs, long end) throws IOException {
        for (int at = from; at < geometry.segmentSize() && geometry.position(in.id(), at) < end; at += Long.BYTES) {
            for (long each : epochs) {
                RecordScan.Kind kind = scan.look(in, at, each);
                if (kind.isWhole()) {
                    return new Place(in.id(), at, each);
                }
                if (kind == RecordScan.Kind.NOTHING) {
                    break;
                }
            }
        }
        return null;
    }

    /**
     * The segment in which a place's epoch begins, behind a segment of another epoch: the place's own one; or, when that
     * says that it begins with the rest of a record, the one before it, which is lost.
     */
    long beginning(Place place, long behind) throws IOException {
        SegmentHeader header = slots.get(place.id()).header();
        boolean isRest = header != null && header.firstRecord() != geometry.dataStart();
        return isRest && place.id() - 1 > behind ? place.id() - 1 : place.id();
    }

    /** The epoch of a segment whose header is damaged: the one that makes its first record whole. */
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

    // What its damaged header says, if it can be; else that of the next one.
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
