package org.mmapqueue.log;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Segment;

/**
 * Resolves a position of version 2 to the offset of the record that begins there. The header of the segment has the
 * offset of its first record; the resolver counts the records from there. It leaves the reader at the position.
 */
public final class OffsetResolver {
    /** The offset of the record at a position, and the highest timestamp before it, in µs since 1970. */
    public record Resolved(long offset, long lastTimestamp) {}

    private OffsetResolver() {}

    /**
     * Resolves a position. Checks each record that it counts: a damaged length would lead to offsets that are assigned
     * twice.
     *
     * @param published the log end
     * @throws CorruptException when no record ends at the position, or a length before it may be damaged
     */
    public static Resolved find(LogReaderV2 reader, long position, long published) throws IOException {
        reader.moveTo(position);
        if (reader.segmentByte() == reader.segmentSize() && reader.segmentId() >= 0 && published > position) {
            reader.nextSegment(reader.geometry().dataStart());
            Resolved resolved = new Resolved(
                    reader.checkedSegment().baseOffset(),
                    reader.checkedSegment().baseTime());
            reader.moveTo(position);
            return resolved;
        }
        return count(reader, position);
    }

    /**
     * Resolves the log end. If the headers of the records lead to the offset that the writer stored at its close, only
     * the last record's payload is read.
     *
     * @param expected the stored offset of the next record, or -1 for none
     * @throws CorruptException as above, also when the records lead to another offset
     */
    public static Resolved findEnd(LogReaderV2 reader, long end, long expected) throws IOException {
        try {
            Resolved trusted = expected < 0 ? null : countHeaders(reader, end);
            if (trusted != null && trusted.offset() == expected) {
                return trusted;
            }
        } catch (CorruptException e) {
            // A damaged length may have led to this position.
        }
        Resolved resolved = count(reader, end);
        if (expected >= 0 && resolved.offset() != expected) {
            throw reader.corrupt(
                    reader.segmentByte(),
                    "the records lead to offset " + resolved.offset() + ", but the queue was closed at offset "
                            + expected);
        }
        return resolved;
    }

    private static Resolved count(LogReaderV2 reader, long position) throws IOException {
        if (position == 0) {
            return new Resolved(0, 0);
        }
        Segment segment = toFirst(reader, position);
        long id = segment.id();
        int target = reader.geometry().byteOfEnd(position);
        long timestamp = segment.baseTime();
        reader.expect(segment.baseOffset());
        while (reader.nextHere(target)) {
            if (reader.skipChecked(position)) {
                timestamp = Math.max(timestamp, reader.timestamp());
            }
            reader.advance();
        }
        long index = reader.nextOffset();
        if (reader.segmentId() != id || reader.segmentByte() != target) {
            throw new CorruptException(
                    reader.swapper().path(id).toString(),
                    target,
                    "a cursor points here, but the records of segment " + id + " lead to " + reader.position());
        }
        reader.moveTo(position);
        return new Resolved(index, timestamp);
    }

    // Counts records by their headers. Null when anything is inconsistent: the caller then checks all records to
    // find out what.
    private static Resolved countHeaders(LogReaderV2 reader, long position) throws IOException {
        if (position == 0) {
            return new Resolved(0, 0);
        }
        Segment segment = toFirst(reader, position);
        long id = segment.id();
        int target = reader.geometry().byteOfEnd(position);
        reader.expect(segment.baseOffset());
        long timestamp = segment.baseTime();
        while (reader.nextHere(target)) {
            reader.skip();
            boolean isLast = reader.endSegmentId() == reader.segmentId() && reader.endByte == target;
            // Timestamps do not decrease. The last record is checked.
            if (reader.timestamp() != 0 && reader.timestamp() < timestamp || isLast && !reader.skipChecked(position)) {
                return null;
            }
            timestamp = Math.max(timestamp, reader.timestamp());
            reader.advance();
        }
        long index = reader.nextOffset();
        boolean reached = reader.segmentId() == id && reader.segmentByte() == target;
        reader.moveTo(position);
        return reached ? new Resolved(index, timestamp) : null;
    }

    private static Segment toFirst(LogReaderV2 reader, long position) throws IOException {
        reader.moveTo(position);
        Segment segment = reader.checkedSegment();
        int first = segment.firstRecord();
        reader.goTo(first == 0 ? reader.segmentSize() : first);
        return segment;
    }
}
