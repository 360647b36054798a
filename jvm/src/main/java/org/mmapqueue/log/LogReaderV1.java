package org.mmapqueue.log;

import java.io.IOException;
import java.util.function.LongSupplier;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Reads a log of format version 1: a 64-bit length, then the payload, unaligned and without a checksum. The published
 * position is the log end. A length lies in one segment; a payload may span several.
 */
public final class LogReaderV1 extends LogReader {
    private static final int LENGTH_BYTES = 8;

    private final LongSupplier published;
    private final int maxLength;

    public LogReaderV1(Swapper swapper, Geometry geometry, int maxLength, LongSupplier published) {
        super(swapper, geometry);
        this.published = published;
        this.maxLength = maxLength;
    }

    /** Moves a position in the last 1..7 bytes of a segment, where no length fits, to the segment's end. */
    public static long normal(Geometry geometry, long position) {
        int atByte = geometry.byteOfEnd(position);
        int left = geometry.segmentSize() - atByte;
        return position > 0 && left < LENGTH_BYTES ? position + left : position;
    }

    @Override
    public boolean next() throws IOException {
        long end = normal(geometry, published.getAsLong());
        if (normal(geometry, position()) >= end) {
            return false;
        }
        if (segmentSize - atByte < LENGTH_BYTES) {
            nextSegment(0);
        }
        if (segment == null) {
            StackRoom.ensure();
            segment = pinned(segmentId);
        }
        long found = segment.getLong(atByte);
        if (found < 0 || found > maxLength) {
            throw corrupt(
                    atByte,
                    "the record's length is " + Long.toUnsignedString(found) + ", but max_event_size is " + maxLength);
        }
        length = (int) found;
        skip();
        long recordEnd = geometry.position(endId, endByte);
        if (recordEnd > end) {
            throw corrupt(atByte, "the record's length is " + length + ", which runs past the writing position");
        }
        return true;
    }

    @Override
    Segment pinned(long id) throws IOException {
        return swapper.pin(id);
    }

    /** Returns false: bytes of version 1 do not show whether a record is published. */
    @Override
    public boolean hasCaughtUp() {
        return false;
    }

    @Override
    public void read(byte[] target, int start) throws IOException {
        int done = Math.min(length, segmentSize - atByte - LENGTH_BYTES);
        segment.get(atByte + LENGTH_BYTES, target, start, done);
        long id = segmentId;
        while (done < length) {
            Segment at = swapper.pin(++id);
            try {
                int piece = Math.min(length - done, segmentSize);
                at.get(0, target, start + done, piece);
                done += piece;
            } finally {
                swapper.unpin(at);
            }
        }
        skip();
    }

    /** Returns true: version 1 has no checksum. */
    @Override
    public boolean skipChecked(long end) {
        skip();
        return true;
    }

    @Override
    public void skip() {
        int here = segmentSize - atByte - LENGTH_BYTES;
        if (length <= here) {
            endsHere(atByte + LENGTH_BYTES + length);
            return;
        }
        int beyond = length - here;
        int segments = (beyond + segmentSize - 1) / segmentSize;
        endsIn(null, segmentId + segments, beyond - (segments - 1) * segmentSize);
    }
}
