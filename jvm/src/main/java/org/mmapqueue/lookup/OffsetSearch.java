package org.mmapqueue.lookup;

import java.io.IOException;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.lookup.SegmentBases.Base;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;

/**
 * Finds records by offset, timestamp or position in version 2: a binary search over the segments' headers, then a walk
 * over the records of one segment from the nearest entry of its sparse index. Leaves the reader before the record that
 * was found.
 *
 * <p>The first walk over a record checks it. Where the walk leaves a segment, the base offset of the next segment must
 * equal the offset that was reached: otherwise one damaged length would shift the offsets of all records after it.
 * Later walks rely on the sparse index and on headers.
 *
 * <p>Segments are not pinned, and may be overwritten at any time. So a result counts only if the segment is still
 * retained after the search. If it is not, or if it is damaged, the call throws {@link CorruptException}, and {@link
 * #segment} returns the segment's id. Not thread-safe.
 */
final class OffsetSearch {
    private final LogReaderV2 reader;
    private final Geometry geometry;
    private final LongConsumer checkRetained;
    private final SegmentBases bases;
    private final SegmentIndexes indexes = new SegmentIndexes();

    private long segment;
    private SegmentIndex index;
    /** The end of the search: the log end, in this segment or after it, or the position that is searched for. */
    private long end;

    private int limit;
    private int lastByte;
    private long offset;
    private long timestamp;
    /** The newest timestamp up to and including the record that {@link #look} has found. */
    private long timestampAfter;

    /**
     * A search with empty indexes.
     *
     * @param checkRetained throws CorruptException if a segment may be overwritten; called after the loads from it
     */
    OffsetSearch(LogReaderV2 reader, LongConsumer checkRetained) {
        this.reader = reader;
        this.geometry = reader.geometry();
        this.checkRetained = checkRetained;
        this.bases = new SegmentBases(reader, checkRetained);
    }

    /** The id of the segment that was read last. */
    long segment() {
        return segment;
    }

    /** The offset of the record that the reader is before. */
    long offset() {
        return offset;
    }

    /** Removes the index of an overwritten segment: its last entries may be of the segment that has overwritten it. */
    void forget(long id) {
        indexes.remove(id);
    }

    /** Removes all indexes. */
    void forgetAll() {
        indexes.clear();
        bases.clear();
    }

    /** The offset of the first record that starts in this segment or after it. */
    long baseOffset(long id) throws IOException {
        segment = id;
        return bases.get(id).offset();
    }

    /**
     * Returns the one segment of {@code low}..{@code high} in which record {@code wanted} can start.
     *
     * @return low - 1 if the record starts before low
     */
    long segmentOfOffset(long wanted, long low, long high) throws IOException {
        return last(Base::offset, wanted, low, high);
    }

    /**
     * Returns the one segment of {@code low}..{@code high} in which the first record of this time, or of a later one,
     * can start.
     *
     * @return low - 1 if the record starts before low
     */
    long segmentOfTime(long micros, long low, long high) throws IOException {
        return last(Base::timestamp, micros - 1, low, high);
    }

    // The last segment with a key of at most this; keys do not decrease. Probes the ids with the most trailing zero
    // bits, which are the same for most bounds, so that their keys are in the cache.
    private long last(ToLongFunction<Base> key, long most, long low, long high) throws IOException {
        long from = low;
        long to = high;
        while (from < to) {
            long middle = to & -Long.highestOneBit(from ^ to);
            if (firstKey(key, middle, to) <= most) {
                from = middle;
            } else {
                to = middle - 1;
            }
        }
        segment = from;
        return from > low || key.applyAsLong(bases.get(low)) <= most ? from : low - 1;
    }

    // The key of a segment, or of the next one with an intact header: damage hides the records of one segment alone.
    private long firstKey(ToLongFunction<Base> key, long id, long high) throws IOException {
        for (segment = id; segment <= high; segment++) {
            try {
                return key.applyAsLong(bases.get(segment));
            } catch (CorruptException e) {
                checkRetained.accept(segment);
            }
        }
        return Long.MAX_VALUE;
    }

    /**
     * Moves to a record of this segment, or, if that is lost, to the first one after it; {@link #offset} says which.
     *
     * @param wanted the record's offset, not below the segment's base offset
     * @param logEnd the log end, in this segment or after it
     * @return false if no such record starts here before the log end; {@link #offset} is then the offset of the first
     *     record after this segment
     */
    boolean toOffset(long id, long wanted, long logEnd) throws IOException {
        enter(id, logEnd);
        start(index.floorOfOffset(wanted));
        boolean found = look();
        while (found && offset < wanted) {
            pass();
            found = look();
        }
        if (!found) {
            checkCount();
        }
        checkRetained.accept(id);
        return found;
    }

    /**
     * Moves to the first record of this segment that was pushed at this time or later. A record without a timestamp
     * takes the last timestamp before it.
     *
     * @param logEnd the log end, in this segment or after it
     * @return false if no such record starts before the log end
     */
    boolean toTime(long id, long micros, long logEnd) throws IOException {
        enter(id, logEnd);
        start(index.floorOfTime(micros));
        boolean found = false;
        int before = 0;
        while (!found && look()) {
            timestampAfter = Math.max(timestamp, reader.timestampOfFound());
            found = timestampAfter >= micros;
            if (!found) {
                pass();
                before = lastByte;
            }
        }
        if (found) {
            checkTimes(before);
        } else {
            checkCount();
        }
        checkRetained.accept(id);
        return found;
    }

    // Checks the record found and the one before it, on which the result depends: a damaged record may have any
    // timestamp.
    private void checkTimes(int before) throws IOException {
        int found = reader.segmentByte();
        if (before > 0) {
            checkAgain(before);
        }
        checkAgain(found);
        reader.forgetEnd();
    }

    // Checks a record that was found there before: the writer may have filled the slot anew since.
    private void checkAgain(int at) throws IOException {
        reader.goTo(at);
        if (!reader.nextHere(reader.segmentSize())) {
            throw reader.corrupt(at, "the record that was here is gone");
        }
        reader.check();
    }

    /**
     * The offset of the intact record that begins at a byte of this segment, or after a segment's end; -1 if none does.
     *
     * @param at the byte in the segment
     */
    long offsetAt(long id, int at) throws IOException {
        segment = id;
        reader.moveTo(geometry.position(id, at));
        long found = reader.offsetHere(0, Long.MAX_VALUE);
        checkRetained.accept(id);
        return found;
    }

    /**
     * Moves to a byte of this segment at which a record ends.
     *
     * @param at the byte in the segment
     * @throws CorruptException if the segment is damaged or overwritten, or no record ends there
     */
    void toByte(long id, int at) throws IOException {
        enter(id, geometry.position(id, at));
        start(index.floorOfByte(at));
        while (look()) {
            pass();
        }
        boolean found = reader.segmentId() == id && reader.segmentByte() == at;
        long reached = reader.position();
        checkRetained.accept(id);
        if (!found) {
            reader.moveTo(geometry.position(id, at));
            throw reader.corrupt(at, "no record ends here: the records of the segment lead to position " + reached);
        }
    }

    private void enter(long id, long logEnd) throws IOException {
        segment = id;
        end = logEnd;
        limit = id == geometry.segmentOfEnd(end) ? geometry.byteOfEnd(end) : geometry.segmentSize();
        index = indexes.get(id);
        if (index == null) {
            reader.moveTo(geometry.position(id, geometry.dataStart()));
            Segment header = reader.checkedSegment();
            int first = header.firstRecord();
            index = new SegmentIndex(
                    id, header.baseOffset(), header.baseTime(), first == 0 ? reader.segmentSize() : first);
            checkRetained.accept(id);
            indexes.put(index);
        }
    }

    private void start(int entry) {
        reader.moveTo(geometry.position(index.id, index.at(entry)));
        lastByte = index.at(entry);
        offset = index.offset(entry);
        reader.expect(offset);
        timestamp = index.timestamp(entry);
    }

    // Whether a record starts at the reader's byte, or after gaps, in this segment and before the limit.
    private boolean look() throws IOException {
        if (reader.segmentId() != index.id) {
            return false;
        }
        boolean found = reader.nextHere(limit);
        offset = reader.nextOffset();
        if (found) {
            timestampAfter = Math.max(timestamp, reader.timestamp());
            return true;
        }
        if (reader.segmentId() != index.id || reader.segmentByte() >= limit) {
            return false; // perhaps after a pad or a gap
        }
        throw reader.corrupt(reader.segmentByte(), "there is no record, but the log extends to byte " + limit);
    }

    private void pass() throws IOException {
        lastByte = reader.segmentByte();
        boolean isNew = offset >= index.offset(index.last());
        reader.skip();
        // The length of a record that spans segments is checked by the base offset of the next segment.
        if (isNew && (reader.endSegmentId() == index.id || !hasNextSegment()) && !reader.skipChecked(end)) {
            timestampAfter = timestamp;
        }
        reader.advance();
        offset = reader.nextOffset();
        timestamp = timestampAfter;
        if (offset > index.offset(index.last()) && reader.segmentId() == index.id) {
            index.add(offset, reader.segmentByte(), timestamp);
        }
    }

    private boolean hasNextSegment() {
        return geometry.segmentOfEnd(end) > index.id;
    }

    // Called at the end of a walk: compares the offset that was reached with the base offset of the next segment. May
    // move the reader.
    private void checkCount() throws IOException {
        boolean isThrough = reader.segmentId() != index.id || reader.segmentByte() == reader.segmentSize();
        if (!isThrough || !hasNextSegment()) {
            return;
        }
        long next = bases.get(index.id + 1).offset();
        if (next != offset) {
            reader.moveTo(geometry.position(index.id, lastByte));
            throw reader.corrupt(
                    lastByte,
                    "the records up to the one that begins here lead to offset " + offset
                            + ", but the next segment begins with offset " + next);
        }
    }
}
