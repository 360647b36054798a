package org.mmapqueue.lookup;

import java.io.IOException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;

/**
 * Finds records by number, time or place in version 2: a binary search over the segments' headers, then a walk over the
 * records of one segment, from the nearest place of its index on. Moves the reader that it is given, and leaves it
 * before the record that was found.
 *
 * <p>A record is checked when it is walked over for the first time, and where the walk leaves the segment the next one
 * must begin with the number that it has come to: one damaged length, and all behind it would be found under the
 * numbers of others. From then on the index vouches for what was checked, and headers do.
 *
 * <p>Nothing holds a segment that is looked at: its slot may be filled for a later one at any time. So what a call has
 * found counts only when the segment is still retained behind it; if not, or if the segment is damaged, it raises
 * {@link org.mmapqueue.errors.CorruptException}, and {@link #segment} says which one it was. Not thread-safe.
 */
final class OffsetSearch {
    private final LogReaderV2 reader;
    private final Geometry geometry;
    private final SegmentBases.Retained retained;
    private final SegmentBases bases;
    private final SegmentIndexes indexes = new SegmentIndexes();

    private long segment;
    private SegmentIndex index;
    /** Where the log ends, in this segment or behind it; or the place that is looked for. */
    private long end;

    private int limit;
    private int lastOffset;
    private long number;
    private long timestamp;
    /** The newest timestamp behind the record that {@link #look} has found. */
    private long timestampBehind;

    /** A search with nothing in its memory. */
    OffsetSearch(LogReaderV2 reader, SegmentBases.Retained retained) {
        this.reader = reader;
        this.geometry = reader.geometry();
        this.retained = retained;
        this.bases = new SegmentBases(reader, retained);
    }

    /** The segment that was looked at last. */
    long segment() {
        return segment;
    }

    /** The number of the record that the reader stands before. */
    long number() {
        return number;
    }

    /** Forgets what it knows of a segment that is lost: what it saw there last may be of a later one. */
    void forget(long id) {
        indexes.remove(id);
    }

    /** Forgets what it knows of the log. */
    void forgetAll() {
        indexes.clear();
        bases.clear();
    }

    /** The number of the first record that starts in this segment or behind it. */
    long baseIndex(long id) throws IOException {
        segment = id;
        return bases.index(id);
    }

    /**
     * The one segment of {@code low}..{@code high} in which record {@code wanted} starts if it starts in any.
     *
     * @return low - 1 when it starts before low
     */
    long segmentOfNumber(long wanted, long low, long high) throws IOException {
        return last(bases::index, wanted, low, high);
    }

    /**
     * The one segment of {@code low}..{@code high} in which the first record of this time, or of a later one, starts if
     * it starts in any.
     *
     * @return low - 1 when it starts before low
     */
    long segmentOfTime(long micros, long low, long high) throws IOException {
        return last(bases::timestamp, micros - 1, low, high);
    }

    private interface Key {
        long of(long id) throws IOException;
    }

    // The last segment whose key is at most this; the keys do not decrease. Looks at the same ids from call to call,
    // whatever the bounds are: at those with the most zero bits, whose keys are kept therefore.
    private long last(Key key, long most, long low, long high) throws IOException {
        segment = low;
        if (key.of(low) > most) {
            return low - 1;
        }
        long from = low;
        long to = high;
        while (from < to) {
            long middle = to & -Long.highestOneBit(from ^ to);
            segment = middle;
            if (key.of(middle) <= most) {
                from = middle;
            } else {
                to = middle - 1;
            }
        }
        return from;
    }

    /**
     * Goes to a record of this segment.
     *
     * @param wanted its number, not below the segment's base index
     * @param logEnd the position at which the log ends, in this segment or behind it
     * @return false when no such record starts here before the end
     */
    boolean toNumber(long id, long wanted, long logEnd) throws IOException {
        enter(id, logEnd);
        start(index.floorOfNumber(wanted));
        while (number < wanted && look()) {
            pass();
        }
        boolean found = number == wanted && look();
        if (!found) {
            checkCount();
        }
        retained.check(id);
        return found;
    }

    /**
     * Goes to the first record of this segment that was pushed at this time or later. One without a timestamp counts as
     * pushed at the time of the last one before it that has one: it was not pushed before that.
     *
     * @param logEnd the position at which the log ends, in this segment or behind it
     * @return false when there is none before the end
     */
    boolean toTime(long id, long micros, long logEnd) throws IOException {
        enter(id, logEnd);
        start(index.floorOfTime(micros));
        boolean found = false;
        int before = 0;
        while (!found && look()) {
            timestampBehind = Math.max(timestamp, reader.timestampOfFound());
            found = timestampBehind >= micros;
            if (!found) {
                pass();
                before = lastOffset;
            }
        }
        if (found) {
            checkTimes(before);
        } else {
            checkCount();
        }
        retained.check(id);
        return found;
    }

    // What was found, and what comes before it, decide together: the time of a damaged one may be any.
    private void checkTimes(int before) throws IOException {
        int found = reader.segmentOffset();
        if (before > 0) {
            reader.goTo(before);
            reader.nextHere();
            reader.check();
        }
        reader.goTo(found);
        reader.nextHere();
        reader.check();
        reader.forgetEnd();
    }

    /**
     * Goes to a place in this segment.
     *
     * @param offset where a record of this segment ends
     * @throws org.mmapqueue.errors.CorruptException also when none ends there
     */
    void toOffset(long id, int offset) throws IOException {
        enter(id, geometry.position(id, offset));
        start(index.floorOfOffset(offset));
        while (look()) {
            pass();
        }
        boolean found = reader.segmentId() == id && reader.segmentOffset() == offset;
        long arrived = reader.position();
        retained.check(id);
        if (!found) {
            reader.moveTo(geometry.position(id, offset));
            throw reader.corrupt(offset, "no record ends here: the records of the segment lead to position " + arrived);
        }
    }

    private void enter(long id, long logEnd) throws IOException {
        segment = id;
        end = logEnd;
        limit = id == geometry.segmentOfEnd(end) ? geometry.offsetOfEnd(end) : geometry.segmentSize();
        index = indexes.get(id);
        if (index == null) {
            reader.moveTo(geometry.position(id, geometry.dataStart()));
            Segment header = reader.checkedSegment();
            int first = header.firstRecord();
            index = new SegmentIndex(
                    id, header.baseIndex(), header.baseTimestamp(), first == 0 ? reader.segmentSize() : first);
            retained.check(id);
            indexes.put(index);
        }
    }

    private void start(int place) {
        reader.moveTo(geometry.position(index.id, index.offset(place)));
        lastOffset = index.offset(place);
        number = index.number(place);
        timestamp = index.timestamp(place);
    }

    // Whether a record starts here, in this segment and before the limit.
    private boolean look() throws IOException {
        if (reader.segmentId() != index.id || reader.segmentOffset() >= limit) {
            return false;
        }
        if (reader.nextHere()) {
            timestampBehind = Math.max(timestamp, reader.timestamp());
            return true;
        }
        if (reader.segmentOffset() == reader.segmentSize()) {
            return false; // behind a pad
        }
        throw reader.corrupt(reader.segmentOffset(), "there is no record, but the log goes on up to byte " + limit);
    }

    private void pass() throws IOException {
        lastOffset = reader.segmentOffset();
        boolean isNew = number >= index.number(index.last());
        reader.skip();
        // Of one that goes on in the next segment the length is checked by the number there.
        if (isNew && (reader.endSegmentId() == index.id || !goesOnBehind()) && !reader.skipChecked(end)) {
            timestampBehind = timestamp;
        }
        reader.advance();
        number++;
        timestamp = timestampBehind;
        if (number > index.number(index.last()) && reader.segmentId() == index.id) {
            index.add(number, reader.segmentOffset(), timestamp);
        }
    }

    private boolean goesOnBehind() {
        return geometry.segmentOfEnd(end) > index.id;
    }

    // To be called at the end of a walk; may move the reader.
    private void checkCount() throws IOException {
        boolean isThrough = reader.segmentId() != index.id || reader.segmentOffset() == reader.segmentSize();
        if (!isThrough || !goesOnBehind()) {
            return;
        }
        long next = bases.index(index.id + 1);
        if (next != number) {
            reader.moveTo(geometry.position(index.id, lastOffset));
            throw reader.corrupt(
                    lastOffset,
                    "the records up to the one that begins here are counted to " + number
                            + ", but the next segment begins with number " + next);
        }
    }
}
