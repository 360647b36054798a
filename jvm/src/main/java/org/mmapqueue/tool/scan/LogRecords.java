package org.mmapqueue.tool.scan;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * The records and gaps of a whole log, in order, up to the log end. They begin at the log start, or after the last hole
 * in what is not retained. For one use; not thread-safe.
 */
public final class LogRecords {
    private final Slots slots;
    private final Geometry geometry;
    private final RecordScan scan;
    private final long start;
    private final long end;
    /** The start of the record. */
    private Slot slot;

    private int at;
    private SegmentBase base;
    private byte[] payload = new byte[0];

    /** @param walk the result of a walk that found no damage */
    public LogRecords(Slots slots, MetaFields facts, WalkResult walk) {
        this.slots = slots;
        this.geometry = slots.geometry();
        this.scan = new RecordScan(slots, facts);
        this.start = Math.max(walk.start, walk.wholeFrom);
        this.end = walk.end;
    }

    /**
     * Finds the next record or gap.
     *
     * @return false at the log end
     * @throws CorruptException if the file has changed since the walk
     */
    public boolean next() throws IOException {
        long id = slot == null ? geometry.segmentOf(start) : scan.endId;
        int offset = slot == null ? (int) (start - geometry.position(id, 0)) : scan.endOffset;
        while (geometry.position(id, offset) < end) {
            if (offset == geometry.segmentSize()) {
                id++;
                offset = geometry.dataStart();
                continue;
            }
            slot = slots.get(id);
            int first = slot.header() == null ? 0 : slot.header().firstRecord();
            at = Math.max(offset, first == 0 ? geometry.dataStart() : first);
            base = slot.header() == null ? null : SegmentBase.of(slot.header());
            RecordScan.Kind kind = base == null ? RecordScan.Kind.BAD : scan.look(slot, at, base);
            if (!kind.isWhole()) {
                throw new CorruptException(slot.path().toString(), at, "the record was whole a moment ago");
            }
            if (kind.hasOffset()) {
                return true;
            }
            offset = scan.endOffset;
        }
        return false;
    }

    /** The segment in which the record begins, and the byte there. */
    public long segmentId() {
        return slot.id();
    }

    public int at() {
        return at;
    }

    /** The offset of the record, or of the first lost one. */
    public long number() {
        return scan.recordOffset;
    }

    /** Length and flags of the record, as stored. */
    public int header() {
        return scan.header;
    }

    /** The number of lost records, if this is a gap. */
    public long lost() {
        return scan.lost;
    }

    public boolean isGap() {
        return RecordDescriptor.isGap(scan.header);
    }

    /** The record's timestamp in µs since 1970; 0 for none. */
    public long timestamp() {
        return isGap() ? 0 : scan.timestamp;
    }

    /** The base time of the record's segment, in µs since 1970. */
    public long baseTime() {
        return base.time();
    }

    /** Number of bytes of the log that were read so far. */
    public long bytesRead() {
        return geometry.position(scan.endId, scan.endOffset) - start;
    }

    /** Reads the payload into an array that begins with it; the next call overwrites the array. */
    public byte[] payload() throws IOException {
        if (payload.length < scan.length) {
            payload = new byte[Math.max(scan.length, 2 * payload.length)];
        }
        scan.payload(slots.get(slot.id()), at, base, payload);
        return payload;
    }

    /** The header of the record with another timestamp. */
    public long restamped(long stamp) throws IOException {
        return scan.restamped(slots.get(slot.id()), at, base, stamp);
    }
}
