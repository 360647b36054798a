package org.mmapqueue.tool.scan;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * The records of a whole log, in order, up to the log end. They begin at the log start, or after the last hole in what is
 * not retained. For one use; not thread-safe.
 */
public final class LogRecords {
    private final Slots slots;
    private final Geometry geometry;
    private final WalkResult walk;
    private final RecordScan scan;
    private final long start;
    private Slot slot;
    private Slot from;
    private int begin;
    private int offset;
    private long number;
    private int header;
    private long baseTime;
    private byte[] payload = new byte[0];

    /** @param walk the result of a walk that found no damage */
    public LogRecords(Slots slots, MetaFields facts, WalkResult walk) {
        this.slots = slots;
        this.geometry = slots.geometry();
        this.walk = walk;
        this.scan = new RecordScan(slots, facts);
        this.start = Math.max(walk.start, walk.wholeFrom);
        this.number = (walk.wholeFrom > walk.start ? walk.wholeNumber : walk.firstNumber) - 1;
    }

    /**
     * Finds the next record.
     *
     * @return false at the log end
     * @throws CorruptException if the file has changed since the walk
     */
    public boolean next() throws IOException {
        if (start >= walk.end) {
            return false;
        }
        if (slot == null) {
            slot = slots.get(geometry.segmentOf(start));
            int first = slot.header() == null ? 0 : slot.header().firstRecord();
            int inside = (int) (start - geometry.position(slot.id(), 0));
            offset = Math.max(first == 0 ? geometry.segmentSize() : first, inside);
        }
        while (geometry.position(slot.id(), offset) < walk.end) {
            if (offset == geometry.segmentSize()) {
                slot = slots.get(slot.id() + 1);
                offset = geometry.dataStart();
                continue;
            }
            // Opened again where the last record took more segments than are kept open; so may this one.
            slot = slots.get(slot.id());
            long head = slot.header() == null ? 0 : slot.bytes().getLong(offset);
            RecordScan.Kind kind = slot.header() == null
                    ? RecordScan.Kind.BAD
                    : scan.look(slot, offset, SegmentBase.of(slot.header()));
            if (!kind.isWhole()) {
                throw new CorruptException(slot.path().toString(), offset, "the record was whole a moment ago");
            }
            from = slot;
            begin = offset;
            slot = slots.get(scan.endId);
            offset = scan.endOffset;
            if (kind != RecordScan.Kind.PAD) {
                number++;
                header = RecordDescriptor.lengthAndFlags(head);
                baseTime = SegmentBase.of(from.header()).time();
                return true;
            }
        }
        return false;
    }

    /** The offset of the record. */
    public long number() {
        return number;
    }

    /** Length and flags of the record, as stored. */
    public int header() {
        return header;
    }

    /** Whether the record is a tombstone. */
    public boolean isLost() {
        return (header & RecordDescriptor.CONTROL) != 0;
    }

    /** The record's timestamp in µs since 1970; 0 for none. */
    public long timestamp() {
        return scan.timestamp;
    }

    /** The base time of the record's segment, in µs since 1970. */
    public long baseTime() {
        return baseTime;
    }

    /** Number of bytes of the log that were read so far. */
    public long bytesRead() {
        return slot == null ? 0 : geometry.position(slot.id(), offset) - start;
    }

    /** Reads the payload into an array that begins with it; the next call overwrites the array. */
    public byte[] payload() throws IOException {
        int length = RecordDescriptor.length(header);
        if (payload.length < length) {
            payload = new byte[Math.max(length, 2 * payload.length)];
        }
        // The second word is aligned, so no segment's end splits it.
        Slot at = slots.get(from.id());
        int position = begin + RecordDescriptor.HEADER;
        boolean atSecond = true;
        int done = 0;
        while (atSecond || done < length) {
            if (position == geometry.segmentSize()) {
                at = slots.get(at.id() + 1);
                position = geometry.dataStart();
            }
            if (atSecond) {
                position += Long.BYTES;
                atSecond = false;
                continue;
            }
            int piece = Math.min(length - done, geometry.segmentSize() - position);
            at.bytes().get(position, payload, done, piece);
            done += piece;
            position += piece;
        }
        return payload;
    }
}
