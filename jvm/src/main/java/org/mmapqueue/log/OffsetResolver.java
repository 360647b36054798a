package org.mmapqueue.log;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Segment;

/**
 * Finds the offset (number) of the record that begins behind a position. Version 2 knows the number of the first record
 * of each segment, the rest is one walk over the records of that segment. Uses the reader that it is given and leaves
 * it at the position.
 */
public final class OffsetResolver {
    /** What is known of a place. */
    public record Place(long offset, long lastTimestamp) {}

    private OffsetResolver() {}

    /**
     * The number of the record behind {@code position}, in version 2. Each record that is counted is checked: with one
     * damaged length numbers would be given again that have been given.
     *
     * @param published the end of the log
     * @throws CorruptException when the position is not behind a record, or records before it are damaged and the
     *     number can not be told
     */
    public static Place find(LogReaderV2 reader, long position, long published) throws IOException {
        reader.moveTo(position);
        if (reader.segmentOffset() == reader.segmentSize() && reader.segmentId() >= 0 && published > position) {
            reader.enterNext(reader.geometry().dataStart());
            Place place = new Place(
                    reader.checkedSegment().baseIndex(), reader.checkedSegment().baseTimestamp());
            reader.moveTo(position);
            return place;
        }
        return count(reader, position);
    }

    /**
     * The place at the end of a log whose writer has left word of its number: when the headers lead there, too, only
     * the last record has to be read.
     *
     * @param end the end of the log
     * @param number of the record to come, or -1 when it is not known
     * @throws CorruptException as above, also when the records lead to another number
     */
    public static Place findEnd(LogReaderV2 reader, long end, long number) throws IOException {
        try {
            Place trusted = number < 0 ? null : countHeaders(reader, end);
            if (trusted != null && trusted.offset() == number) {
                return trusted;
            }
        } catch (CorruptException e) {
            // Maybe of a place to which a damaged length before it has led.
        }
        Place place = count(reader, end);
        if (number >= 0 && place.offset() != number) {
            throw reader.corrupt(
                    reader.segmentOffset(),
                    "the records lead to number " + place.offset() + ", but the queue was" + " closed at number "
                            + number);
        }
        return place;
    }

    private static Place count(LogReaderV2 reader, long position) throws IOException {
        if (position == 0) {
            return new Place(0, 0);
        }
        Segment segment = toFirst(reader, position);
        long id = segment.id();
        int target = reader.geometry().offsetOfEnd(position);
        long index = segment.baseIndex();
        long timestamp = segment.baseTimestamp();
        while (reader.segmentId() == id && reader.segmentOffset() < target && reader.nextHere()) {
            if (reader.skipChecked(position)) {
                timestamp = Math.max(timestamp, reader.timestamp());
            }
            reader.advance();
            index++;
        }
        if (reader.segmentId() != id || reader.segmentOffset() != target) {
            throw new CorruptException(
                    reader.swapper().path(id).toString(),
                    target,
                    "a cursor points here, but" + " the records of segment " + id + " lead to " + reader.position());
        }
        reader.moveTo(position);
        return new Place(index, timestamp);
    }

    // Null when something is not as it should be: what, only a check of all can tell.
    private static Place countHeaders(LogReaderV2 reader, long position) throws IOException {
        if (position == 0) {
            return new Place(0, 0);
        }
        Segment segment = toFirst(reader, position);
        long id = segment.id();
        int target = reader.geometry().offsetOfEnd(position);
        long index = segment.baseIndex();
        long timestamp = segment.baseTimestamp();
        while (reader.segmentId() == id && reader.segmentOffset() < target && reader.nextHere()) {
            reader.skip();
            boolean isLast = reader.endSegmentId() == reader.segmentId() && reader.endSegmentOffset() == target;
            // Times do not decrease, and what counts is the last one.
            if (reader.timestamp() != 0 && reader.timestamp() < timestamp || isLast && !reader.skipChecked(position)) {
                return null;
            }
            timestamp = Math.max(timestamp, reader.timestamp());
            reader.advance();
            index++;
        }
        boolean arrived = reader.segmentId() == id && reader.segmentOffset() == target;
        reader.moveTo(position);
        return arrived ? new Place(index, timestamp) : null;
    }

    private static Segment toFirst(LogReaderV2 reader, long position) throws IOException {
        reader.moveTo(position);
        Segment segment = reader.checkedSegment();
        int first = segment.firstRecord();
        reader.goTo(first == 0 ? reader.segmentSize() : first);
        return segment;
    }
}
