package org.mmapqueue.log;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Reads the log record by record, forwards. Its segment stays pinned between calls. Each record is checked; a {@link
 * CorruptException} names the damage, and the position does not move. Not thread-safe: the owner's lock guards it.
 */
public abstract class LogReader implements FoundRecord {
    static final long UNKNOWN = -1;

    final Swapper swapper;
    final Geometry geometry;
    final int segmentSize;
    private final int dataStart;

    // The accessors say what these are.
    Segment segment;
    long segmentId;
    int atByte;

    int length;
    long timestamp;
    boolean batchContinues;
    long nextOffset = UNKNOWN;
    /** The lowest epoch of the segment that the reader moves into next; 0 for any, and in version 1. */
    long lowestEpoch;

    /** The segment in which the record that was read last ends. */
    private Segment endSegment;

    long endId;
    int endByte;

    LogReader(Swapper swapper, Geometry geometry) {
        this.swapper = swapper;
        this.geometry = geometry;
        this.segmentSize = geometry.segmentSize();
        this.dataStart = geometry.dataStart();
        this.segmentId = -1;
        this.atByte = segmentSize;
    }

    /** Moves to the end of a record, or to 0. Does not access any file yet. */
    public void moveTo(long position) {
        leave();
        batchContinues = false;
        lowestEpoch = 0;
        segmentId = geometry.segmentOfEnd(position);
        atByte = geometry.byteOfEnd(position);
    }

    /** The absolute position. */
    public final long position() {
        return segmentId * segmentSize + atByte;
    }

    /**
     * The position after which the record at the reader's position begins: where a record or a segment ends, also if the
     * reader has moved to the first record of the next segment since.
     */
    public final long endBefore() {
        return segmentId * segmentSize + (atByte == dataStart ? 0 : atByte);
    }

    /** Moves to another byte of the same segment, at which a record begins. */
    public void goTo(int to) {
        batchContinues = false;
        atByte = to;
    }

    public final Swapper swapper() {
        return swapper;
    }

    public final Geometry geometry() {
        return geometry;
    }

    public final int segmentSize() {
        return segmentSize;
    }

    /** The segment of the position, pinned; null while none is pinned. */
    public final Segment segment() {
        return segment;
    }

    /** The id of the segment of the position, pinned or not; -1 before the first. */
    public final long segmentId() {
        return segmentId;
    }

    /** Byte of the position within the segment; the segment size at its end. */
    public final int segmentByte() {
        return atByte;
    }

    /** Bytes of payload of the record that {@link #next} has found. */
    @Override
    public final int length() {
        return length;
    }

    /** Timestamp of that record in µs, 0 for none. */
    @Override
    public final long timestamp() {
        return timestamp;
    }

    /** Whether the next record is of the same batch. */
    public final boolean batchContinues() {
        return batchContinues;
    }

    /** The id of the segment in which the record that was read or skipped last ends. */
    public final long endSegmentId() {
        return endId;
    }

    /** The position at which that record ends. */
    public final long endPosition() {
        return geometry.position(endId, endByte);
    }

    /**
     * The offset of the record at the position, as far as this reader knows it: since {@link #expect}, or from the record
     * or the gap before. It grows by more than 1 where {@link #next} passes a gap.
     *
     * @return -1 if the offset is unknown, and in version 1
     */
    public final long nextOffset() {
        return nextOffset;
    }

    /** Sets the offset of the record at the position: any other offset there is damage. Version 1 does not check it. */
    public void expect(long offset) {}

    /**
     * Finds the next record, and sets its length, timestamp and flags. Passes gaps, also when no record follows:
     * {@link #nextOffset} then is the offset after them.
     *
     * @return false when there is none yet
     * @throws CorruptException when the bytes are not a record
     */
    public abstract boolean next() throws IOException;

    /**
     * Whether no record is published at the position: {@link #next} then finds none, unless one is pushed in between.
     * Changes nothing.
     */
    public abstract boolean hasCaughtUp();

    /**
     * Copies the payload of the record that {@link #next} has found, and verifies its checksum.
     *
     * @param start index in the target of the first byte
     */
    @Override
    public abstract void read(byte[] target, int start) throws IOException;

    /**
     * Finds the next record, if nothing has to be decided about it: it is in the pinned segment, whole and of the expected
     * offset. All else is left to {@link #next}, which names what is wrong. Never in version 1.
     */
    public boolean nextPlain() {
        return false;
    }

    /**
     * Copies the payload of the record that {@link #nextPlain} has found, and moves behind it; returns false, and does not
     * move, if its checksum is wrong.
     *
     * @param start index in the target of the first byte
     */
    public boolean takePlain(byte[] target, int start) {
        throw new IllegalStateException("no record was found");
    }

    /** Finds the end of the record that {@link #next} has found, without reading its payload. */
    public abstract void skip() throws IOException;

    /**
     * As {@link #skip}, but also checks the record: a damaged length would lead past other records, and shift all
     * offsets. A record of which only the payload is damaged is skipped.
     *
     * @param end a position at which a record is known to end
     * @return whether the record is intact
     * @throws CorruptException when the length may be damaged
     */
    public abstract boolean skipChecked(long end) throws IOException;

    /** Moves to the end of the record that was read or skipped last. */
    public void advance() {
        if (endSegment != null && endSegment != segment) {
            swapper.unpin(segment);
            segment = endSegment;
        } else if (endId != segmentId) {
            leave();
        }
        endSegment = null;
        segmentId = endId;
        atByte = endByte;
    }

    /** Unpins the segment; the position does not change. */
    public final void leave() {
        forgetEnd();
        if (segment != null) {
            swapper.unpin(segment);
            segment = null;
        }
    }

    /**
     * Moves into the next segment, which must exist. The reader moves once the segment is pinned and checked: if that
     * fails, the position is still the end of a record.
     */
    final void nextSegment(int start) throws IOException {
        StackRoom.ensure();
        leave();
        segment = pinned(segmentId + 1);
        segmentId++;
        atByte = start;
    }

    /** Pins a segment, after a check of its header, where the format has one. */
    abstract Segment pinned(long id) throws IOException;

    /** Notes that the record ends in the segment in which it starts. */
    final void endsHere(int end) {
        forgetEnd();
        endId = segmentId;
        endByte = end;
    }

    /** Notes that the record ends in a later segment; {@code pinned} is null when only the segment's id is known. */
    final void endsIn(Segment pinned, long id, int end) {
        forgetEnd();
        endSegment = pinned;
        endId = id;
        endByte = end;
    }

    /** Unpins the segment in which the record that was read ends, without {@link #advance}. */
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
