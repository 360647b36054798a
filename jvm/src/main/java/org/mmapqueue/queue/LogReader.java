package org.mmapqueue.queue;

import java.io.IOException;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Walks the log record by record, in one direction. Between calls it keeps the segment pinned that it is in. What it
 * gives is whole and checked, or a {@link CorruptException} says where it is not; the place does not move then. Not
 * thread-safe: its owner's claim guards it.
 */
abstract class LogReader {
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
    final void moveTo(long position) {
        leave();
        segmentId = geometry.segmentOfEnd(position);
        offset = geometry.offsetOfEnd(position);
    }

    /** The place, as an absolute position. */
    final long position() {
        return geometry.position(segmentId, offset);
    }

    /** The segment that the place is in, for the replacement policy. */
    final long segmentId() {
        return Math.max(segmentId, 0);
    }

    /**
     * Looks at the next record: on true its length, timestamp and flags are set.
     *
     * @return false when there is none yet
     * @throws CorruptException when what is there is no record
     */
    abstract boolean next() throws IOException;

    /**
     * Whether no record is stored at the place, as far as its own bytes tell: {@link #next} finds none then, unless one
     * comes in between. Changes nothing.
     */
    abstract boolean hasCaughtUp();

    /**
     * Copies the payload of the record that {@link #next} has found, and checks it.
     *
     * @param target gets the payload
     * @param start index of its first byte there
     */
    abstract void read(byte[] target, int start) throws IOException;

    /** Finds the end of the record that {@link #next} has found, and does not look at its payload. */
    abstract void skip() throws IOException;

    /**
     * As {@link #skip}, for a record that nobody has read yet: a length that is damaged may lead beyond others, and all
     * that come behind would be taken for what they are not. One whose payload alone is damaged is skipped.
     *
     * @param end a position at which a record is known to end
     * @return whether the record is whole
     * @throws CorruptException when it is not, and where it ends can not be told
     */
    abstract boolean skipChecked(long end) throws IOException;

    /** Goes behind the record that was read or skipped last. */
    final void advance() {
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
    final void leave() {
        forgetEnd();
        if (segment != null) {
            swapper.unpin(segment);
            segment = null;
        }
    }

    /** Goes into the next segment, which must be there. */
    final void enterNext(int start) throws IOException {
        StackRoom.ensure();
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
    final void forgetEnd() {
        if (endSegment != null && endSegment != segment) {
            swapper.unpin(endSegment);
        }
        endSegment = null;
    }

    final CorruptException corrupt(int at, String detail) {
        return new CorruptException(swapper.path(segmentId).toString(), at, detail + " (segment " + segmentId + ")");
    }
}
