package org.mmapqueue.queue;

import java.io.IOException;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Segment;

/**
 * Finds the offset (number) of the record that begins behind a position. Version 2 knows the number of the first record
 * of each segment, the rest is one walk over the headers of that segment. Uses the reader that it is given and leaves
 * it at the position.
 */
final class Locator {
    /** What is known of a place. */
    record Place(long offset, long lastTimestamp) {
    }

    private Locator() {
    }

    /**
     * The number of the record behind {@code position}, in version 2.
     *
     * @param published the end of the log
     * @throws CorruptException when the position is not behind a record
     */
    static Place find(LogReaderV2 reader, long position, long published) throws IOException {
        reader.moveTo(position);
        if (reader.segmentId < 0) {
            return new Place(0, 0);
        }
        if (reader.offset == reader.segmentSize && published > position) {
            reader.enterNext(reader.geometry.dataStart());
            Place place = new Place(reader.checkedSegment().baseIndex(), reader.checkedSegment().baseTimestamp());
            reader.moveTo(position);
            return place;
        }
        long id = reader.segmentId;
        int target = reader.offset;
        Segment segment = reader.checkedSegment();
        long index = segment.baseIndex();
        long timestamp = segment.baseTimestamp();
        int first = segment.firstRecord();
        reader.offset = first == 0 ? reader.segmentSize : first;
        while (reader.segmentId == id && reader.offset < target) {
            if (!reader.nextHere()) {
                break;
            }
            timestamp = Math.max(timestamp, reader.timestamp);
            reader.skip();
            reader.advance();
            index++;
        }
        if (reader.segmentId != id || reader.offset != target) {
            throw new CorruptException(segment.path().toString(), target, "a cursor points here, but the records of"
                    + " segment " + id + " lead to " + reader.position());
        }
        reader.moveTo(position);
        return new Place(index, timestamp);
    }
}
