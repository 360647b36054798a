package org.mmapqueue.log;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Walks the log record by record, in one direction. Between calls it keeps the segment pinned that it is in. What it
 * gives is whole and checked, or a {@link CorruptException} says where it is not; the place does not move then. Not
 * thread-safe: its owner's claim guards it.
 */
public abstract class LogReader {
    final Swapper swapper;
    final Geometry geometry;
    final int segmentSize;

    /** The segment of the place, pinned; null while none is. */
    Segment segment;
    /** The id that {@link #segment} has or would have; -1 before the first. */
    long segmentId;
    /** The place in the segment; the segment size at its end. */
    int offset;

    /** The payload's length of the record that {@link #next} has found. */
    int length;
    /** Its timestamp in µs, 0 for none. */
    long timestamp;
    /** Whether it is a mark in the place of a record that was lost: it has a number, and no payload. */
    boolean lost;
    /** Whether its batch goes on with the next record. */
    boolean batchGoesOn;

    /** Where the record that was read ends. */
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

    /** Goes to the end of a record, or to 0; touches no file yet. */
    public final void moveTo(long position) {
        leave();
        batchGoesOn = false;
        segmentId = geometry.segmentOfEnd(position);
        offset = geometry.offsetOfEnd(position);
    }

    /** The place, as an absolute position. */
    public final long position() {
        return geometry.position(segmentId, offset);
    }

    /** Goes to another record of the segment of the place. */
    public final void goTo(int to) {
        batchGoesOn = false;
        offset = to;
    }

    /** Where the segments come from. */
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

    /** The segment of the place; null while none is pinned. */
    public final Segment segment() {
        return segment;
    }

    /** Its id; -1 before the first. */
    public final long segmentId() {
        return segmentId;
    }

    /** The place in the segment, in bytes; the segment size at its end. */
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

    /** Whether its batch goes on with the next record. */
    public final boolean batchGoesOn() {
        return batchGoesOn;
    }

    /** The segment in which the record ends that was read or skipped last. */
    public final long endSegmentId() {
        return endId;
    }

    /** Where it ends there, in bytes. */
    final int endSegmentOffset() {
        return endOffset;
    }

    /**
     * Looks at the next record: on true its length, timestamp and flags are set.
     *
     * @return false when there is none yet
     * @throws CorruptException when what is there is no record
     */
    public abstract boolean next() throws IOException;

    /**
     * Whether no record is stored at the place, as far as its own bytes tell: {@link #next} finds none then, unless one
     * comes in between. Changes nothing.
     */
    public abstract boolean hasCaughtUp();

    /**
     * Copies the payload of the record that {@link #next} has found, and checks it.
     *
     * @param target gets the payload
     * @param start index of its first byte there
     */
    public abstract void read(byte[] target, int start) throws IOException;

    /** Finds the end of the record that {@link #next} has found, and does not look at its payload. */
    public abstract void skip() throws IOException;

    /**
     * As {@link #skip}, for a record that nobody has read yet: a length that is damaged may lead beyond others, and all
     * that come behind would be taken for what they are not. One whose payload alone is damaged is skipped.
     *
     * @param end a position at which a record is known to end
     * @return whether the record is whole
     * @throws CorruptException when it is not, and where it ends can not be told
     */
    public abstract boolean skipChecked(long end) throws IOException;

    /** Goes behind the record that was read or skipped last. */
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

    /** Lets go of the pinned segment; the place stays. */
    public final void leave() {
        forgetEnd();
        if (segment != null) {
            swapper.unpin(segment);
            segment = null;
        }
    }

    /** Goes into the next segment, which must be there. */
    final void enterNext(int start) throws IOException {
        leave();
        segmentId++;
        offset = start;
    }

    /** The end is in the segment that the record starts in. */
    final void endsHere(int end) {
        forgetEnd();
        endId = segmentId;
        endOffset = end;
    }

    /** The end is in a later segment; {@code pinned} may be null when only its id is known. */
    final void endsIn(Segment pinned, long id, int end) {
        forgetEnd();
        endSegment = pinned;
        endId = id;
        endOffset = end;
    }

    /** Lets go of the segment in which the record ends that was read and is not advanced behind. */
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
