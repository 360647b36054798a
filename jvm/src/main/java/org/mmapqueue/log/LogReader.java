package org.mmapqueue.log;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Reads the log record by record, forwards. Between calls its segment stays pinned. Each record is checked; a
 * {@link CorruptException} names the damage, and the position does not move. Not thread-safe: the owner's lock guards
 * it.
 */
public abstract class LogReader {
    final Swapper swapper;
    final Geometry geometry;
    final int segmentSize;

    /** The segment of the position, pinned; null while none is. */
    Segment segment;
    /** The id that {@link #segment} has or would have; -1 before the first. */
    long segmentId;
    /** The position in the segment; the segment size at its end. */
    int offset;

    /** Bytes of payload of the record that {@link #next} has found. */
    int length;
    /** Its timestamp in µs, 0 for none. */
    long timestamp;
    /** Whether it is a tombstone: it has an offset and no payload. */
    boolean lost;
    /** Whether the next record is of the same batch. */
    boolean batchContinues;

    /** The segment in which the record ends that was read. */
    private Segment endSegment;

    long endId;
    int endOffset;

    LogReader(Swapper swapper, Geometry geometry) {
        this.swapper = swapper;
        this.geometry = geometry;
        this.segmentSize = geometry.segmentSize();
        this.segmentId = -1;
        this.offset = segmentSize;
    }

    /** Moves to the end of a record, or to 0; touches no file yet. */
    public final void moveTo(long position) {
        leave();
        batchContinues = false;
        segmentId = geometry.segmentOfEnd(position);
        offset = geometry.offsetOfEnd(position);
    }

    /** The position. */
    public final long position() {
        return geometry.position(segmentId, offset);
    }

    /** Moves to another record of the same segment. */
    public final void goTo(int to) {
        batchContinues = false;
        offset = to;
    }

    /** The swapper of the segments. */
    public final Swapper swapper() {
        return swapper;
    }

    public final Geometry geometry() {
        return geometry;
    }

    /** Bytes of a segment. */
    public final int segmentSize() {
        return segmentSize;
    }

    /** The segment of the position; null while none is pinned. */
    public final Segment segment() {
        return segment;
    }

    /** Its id; -1 before the first. */
    public final long segmentId() {
        return segmentId;
    }

    /** The position in the segment, in bytes; the segment size at its end. */
    public final int segmentOffset() {
        return offset;
    }

    /** Bytes of payload of the record that {@link #next} has found. */
    public final int length() {
        return length;
    }

    /** Its timestamp in µs, 0 for none. */
    public final long timestamp() {
        return timestamp;
    }

    /** Whether it is a tombstone: it has an offset and no payload. */
    public final boolean isLost() {
        return lost;
    }

    /** Whether the next record is of the same batch. */
    public final boolean batchContinues() {
        return batchContinues;
    }

    /** The segment in which the record ends that was read or skipped last. */
    public final long endSegmentId() {
        return endId;
    }

    /** The end of that record there, in bytes. */
    final int endSegmentOffset() {
        return endOffset;
    }

    /**
     * Finds the next record, and sets its length, timestamp and flags.
     *
     * @return false when there is none yet
     * @throws CorruptException when the bytes are no record
     */
    public abstract boolean next() throws IOException;

    /**
     * Whether the bytes at the position are no record yet: {@link #next} then finds none, unless one is pushed in
     * between. Changes nothing.
     */
    public abstract boolean hasCaughtUp();

    /**
     * Copies the payload of the record that {@link #next} has found, and checks it.
     *
     * @param target gets the payload
     * @param start index of its first byte there
     */
    public abstract void read(byte[] target, int start) throws IOException;

    /** Finds the end of the record that {@link #next} has found, without reading its payload. */
    public abstract void skip() throws IOException;

    /**
     * As {@link #skip}, and checks the record: a damaged length would lead past other records, and shift all offsets. A
     * record with a damaged payload alone is skipped.
     *
     * @param end a position at which a record is known to end
     * @return whether the record is whole
     * @throws CorruptException when the length may be damaged
     */
    public abstract boolean skipChecked(long end) throws IOException;

    /** Moves to the end of the record that was read or skipped last. */
    public final void advance() {
        if (endSegment != null && endSegment != segment) {
            swapper.unpin(segment);
            segment = endSegment;
        } else if (endId != segmentId) {
            leave();
        }
        endSegment = null;
        segmentId = endId;
        offset = endOffset;
    }

    /** Unpins the segment; the position stays. */
    public final void leave() {
        forgetEnd();
        if (segment != null) {
            swapper.unpin(segment);
            segment = null;
        }
    }

    /** Moves into the next segment, which must exist. */
    final void nextSegment(int start) throws IOException {
        StackRoom.ensure();
        leave();
        segmentId++;
        offset = start;
    }

    /** The record ends in the segment in which it starts. */
    final void endsHere(int end) {
        forgetEnd();
        endId = segmentId;
        endOffset = end;
    }

    /** The record ends in a later segment; {@code pinned} is null when only its id is known. */
    final void endsIn(Segment pinned, long id, int end) {
        forgetEnd();
        endSegment = pinned;
        endId = id;
        endOffset = end;
    }

    /** Unpins the segment in which the record ends that was read, without {@link #advance}. */
    public final void forgetEnd() {
        if (endSegment != null && endSegment != segment) {
            swapper.unpin(endSegment);
        }
        endSegment = null;
    }

    public final CorruptException corrupt(int at, String detail) {
        return new CorruptException(swapper.path(segmentId).toString(), at, detail + " (segment " + segmentId + ")");
    }
}
