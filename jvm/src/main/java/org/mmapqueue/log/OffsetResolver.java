package org.mmapqueue.log;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Segment;

/**
 * Resolves a position of version 2 to the offset of the record that begins there, where no such record says it: the
 * header of the segment has the offset of its first record, and the records from there are counted. Leaves the reader at
 * the position.
 */
public final class OffsetResolver {
    private OffsetResolver() {}

    /**
     * Resolves a position. Checks each record that it counts: a damaged length would lead to offsets that are assigned
     * twice.
     *
     * @param published the log end
     * @throws CorruptException when no record ends at the position, or a length before it may be damaged
     */
    public static LogEnd find(LogReaderV2 reader, long position, long published) throws IOException {
        reader.moveTo(position);
        if (reader.segmentByte() == reader.segmentSize() && reader.segmentId() >= 0 && published > position) {
            reader.nextSegment(reader.geometry().dataStart());
            Segment next = reader.checkedSegment();
            LogEnd end = new LogEnd(position, next.baseOffset(), next.baseTime());
            reader.moveTo(position);
            return end;
        }
        return position == 0 ? new LogEnd(0, 0, 0) : count(reader, position);
    }

    private static LogEnd count(LogReaderV2 reader, long position) throws IOException {
        Segment segment = reader.checkedSegment();
        long id = segment.id();
        int target = reader.geometry().byteOfEnd(position);
        long timestamp = segment.baseTime();
        reader.goTo(segment.firstRecord() == 0 ? reader.segmentSize() : segment.firstRecord());
        reader.expect(segment.baseOffset());
        while (reader.nextHere(target)) {
            if (reader.skipChecked(position)) {
                timestamp = Math.max(timestamp, reader.timestamp());
            }
            reader.advance();
        }
        long offset = reader.nextOffset();
        if (reader.segmentId() != id || reader.segmentByte() != target) {
            throw new CorruptException(
                    reader.swapper().path(id).toString(),
                    target,
                    "a cursor points here, but the records of segment " + id + " lead to " + reader.position());
        }
        reader.moveTo(position);
        return new LogEnd(position, offset, timestamp);
    }
}
