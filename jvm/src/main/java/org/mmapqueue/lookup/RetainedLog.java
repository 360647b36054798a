package org.mmapqueue.lookup;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.stream.LongStream;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.segment.Geometry;

/**
 * The retained log at one moment, and searches in it. Throws {@link CorruptException} for damage, and also if the
 * writer has overwritten a segment since; in the latter case {@link #isLost} is true, and the next {@link #look} loads
 * bounds after that segment. Not thread-safe.
 */
final class RetainedLog {
    private static final String NOT_THERE = "a record that is not retained any more, or not pushed yet";
    private static final String LOST = "a lost record, which a repair has given up";

    private final LogReaderV2 reader;
    private final RandomAccessReader.Source source;
    private final Geometry geometry;
    private final OffsetSearch search;

    /** The bounds: positions, and the first segment that is retained. */
    private long head;

    private long end;
    private long lowest;

    /** Starts without bounds. */
    RetainedLog(LogReaderV2 reader, RandomAccessReader.Source source) {
        this.reader = reader;
        this.source = source;
        this.geometry = reader.geometry();
        this.search = new OffsetSearch(reader, this::checkRetained);
    }

    /** Loads the bounds. */
    void look() {
        long reclaimed = source.reclaimed();
        long oldest = source.head();
        end = source.end(); // loaded last: it only grows, so it is not before the others
        head = Math.max(oldest, geometry.position(geometry.segmentOf(reclaimed), 0));
        lowest = startSegment(reclaimed, end);
    }

    /** The offset of the record found last. */
    long offset() {
        return search.offset();
    }

    /** The log start: the position after which the oldest retained record begins. */
    long start() {
        return head;
    }

    /** The log end: the position after the last published record. */
    long end() {
        return end;
    }

    /**
     * Moves to a record, or, if that is lost, to the first one after it; {@link #offset} says which.
     *
     * @return false if the record is not retained or does not exist, or is lost and none follows
     */
    boolean goTo(long offset) throws IOException {
        if (offset < 0 || end <= head) {
            return false;
        }
        boolean found = search(offset) && reader.position() >= head;
        if (!found || search.offset() == offset) {
            return found;
        }
        return offset >= offsetAt(head) && search(offset); // lost records before the log start are not retained
    }

    private boolean search(long offset) throws IOException {
        long low = geometry.segmentOf(head);
        long wanted = offset;
        while (true) {
            long id = search.segmentOfOffset(wanted, low, geometry.segmentOfEnd(end));
            if (id < low) {
                return false;
            }
            if (search.toOffset(id, wanted, end)) {
                return true;
            }
            if (search.offset() <= wanted) {
                return false;
            }
            wanted = search.offset(); // a gap extends to the segment's end or beyond it
        }
    }

    /** Moves to the first record that was pushed at this time (at least 0) or later; returns false if there is none. */
    boolean goToTime(long micros) throws IOException {
        if (end <= head) {
            return false;
        }
        long low = geometry.segmentOf(head);
        long high = geometry.segmentOfEnd(end);
        long id = search.segmentOfTime(micros, low, high);
        if (id >= low) {
            if (!search.toTime(id, micros, end)) {
                // No such record in this segment: the next one may begin with a later time than the last record of this
                // segment has.
                return id < high && goTo(search.baseOffset(id + 1));
            }
            if (reader.position() >= head) {
                return true;
            }
        }
        return goTo(offsetAt(head));
    }

    /** Offset and position of the record found last. */
    RandomAccessReader.OffsetPosition found() {
        int start = reader.segmentByte() == geometry.dataStart() ? 0 : reader.segmentByte();
        return new RandomAccessReader.OffsetPosition(search.offset(), geometry.position(reader.segmentId(), start));
    }

    /** The offset of the oldest record; {@link #next} if no record is retained. */
    long first() throws IOException {
        return end <= head ? next() : offsetAt(head);
    }

    /** The offset after the last record. */
    long next() throws IOException {
        return offsetAt(end);
    }

    /** The offset after the last record that ends at or before a position; at least {@link #first}. */
    long offsetUpTo(long position) throws IOException {
        return position <= head ? first() : offsetAt(Math.min(position, end));
    }

    /** The offset of the record that begins after a position, which is the end of a record or the log start. */
    long offsetAt(long position) throws IOException {
        if (position == 0) {
            return 0;
        }
        long id = geometry.segmentOfEnd(position);
        int at = geometry.byteOfEnd(position);
        if (at == geometry.segmentSize() && end > position) {
            return search.baseOffset(id + 1);
        }
        long found = position < end ? search.offsetAt(id, at) : -1;
        if (found >= 0) {
            return found;
        }
        search.toByte(id, at);
        return search.offset();
    }

    /**
     * As {@link #offsetAt}, for any position.
     *
     * @throws MmapQueueException if the position is not retained any more
     */
    long retainedOffsetAt(long position) throws IOException {
        long oldest = geometry.position(Math.max(0, startSegment()), 0);
        if (position < oldest && position != 0) {
            throw new MmapQueueException("position " + position + " is not retained any more; the oldest is " + oldest);
        }
        return offsetAt(position);
    }

    /**
     * Estimates the position of a record that is retained, or is the next one to be pushed. Exact for the first record
     * of a segment.
     *
     * @throws OutOfRangeException if it is neither
     */
    long estimate(long offset) throws IOException {
        long next = next();
        if (offset == next) {
            return end;
        }
        if (offset > next || offset < first()) {
            throw outOfRange(offset);
        }
        long high = geometry.segmentOfEnd(end);
        long id = search.segmentOfOffset(offset, geometry.segmentOf(head), high);
        long low = search.baseOffset(id);
        long records = (id < high ? search.baseOffset(id + 1) : next) - low;
        return beginOf(id) + (long) ((double) (offset - low) / records * (endOf(id) - beginOf(id)));
    }

    /**
     * Estimates the offset of the record at a position between the bounds.
     *
     * @param inside whether to interpolate within the segment; otherwise the first record of the position's segment
     */
    long offsetNear(long position, boolean inside) throws IOException {
        long id = geometry.segmentOfEnd(position);
        long low = search.baseOffset(id);
        if (!inside) {
            return low;
        }
        long records = (id < geometry.segmentOfEnd(end) ? search.baseOffset(id + 1) : next()) - low;
        return low + (long) ((double) (position - beginOf(id)) / (endOf(id) - beginOf(id)) * records);
    }

    /** As {@code RandomAccess.split}. */
    long[] split(long from, long to, long bytes) throws IOException {
        LongStream.Builder bounds = LongStream.builder().add(from);
        long last = from;
        long until = estimate(to);
        long at = estimate(from);
        while (bytes < until - at) { // so that no sum overflows
            at += bytes;
            long bound = offsetNear(at, bytes < geometry.segmentSize());
            if (bound > last && bound < to) {
                bounds.add(bound);
                last = bound;
            }
        }
        return bounds.add(to).build().toArray();
    }

    private long beginOf(long id) {
        return geometry.position(id, 0);
    }

    private long endOf(long id) {
        return Math.min(end, geometry.position(id, geometry.segmentSize()));
    }

    /** Whether a record is retained, lost, or the next one to be pushed. */
    boolean isInRange(long offset) throws IOException {
        return offset >= first() && offset <= next();
    }

    /** The exception for a record that is not retained or does not exist yet. */
    OutOfRangeException outOfRange(long offset) throws IOException {
        return new OutOfRangeException(NOT_THERE, offset, first(), next() - 1);
    }

    /** As {@link #outOfRange}, for a record that may be lost. */
    OutOfRangeException missing(long offset) throws IOException {
        long first = first();
        long last = next() - 1;
        return new OutOfRangeException(offset >= first && offset <= last ? LOST : NOT_THERE, offset, first, last);
    }

    /** Whether the segment read last was overwritten since {@link #look}. */
    boolean isLost() {
        return search.segment() >= lowest && search.segment() < startSegment();
    }

    /** Removes the index of the segment read last. */
    void forgetLast() {
        search.forget(search.segment());
    }

    /** Removes all indexes. */
    void forgetAll() {
        search.forgetAll();
    }

    /** The id of the first segment that is not overwritten. */
    long startSegment() {
        return startSegment(source.reclaimed(), source.end());
    }

    // The writer's own segment counts as retained, though all of it may be acked.
    private long startSegment(long reclaimed, long written) {
        return Math.min(geometry.segmentOf(reclaimed), geometry.segmentOfEnd(written));
    }

    private void checkRetained(long id) {
        VarHandle.acquireFence(); // loads from the segment precede the loads of the bounds
        if (id < startSegment()) {
            throw new CorruptException(geometry.fileName(id), 0, "segment " + id + " is not retained any more");
        }
    }
}
