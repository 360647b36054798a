package org.mmapqueue.log;

import java.io.IOException;
import java.util.function.LongSupplier;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.Segment;

/**
 * Finds the next record after damage that has an unambiguous offset (decision 040). Within a segment, records are
 * counted back from the base index of the next segment. Between two holes with unknown numbers of lost records, intact
 * records are skipped too. Uses a reader of its own; not thread-safe.
 */
public final class DamageSkip {
    /** The most bytes that one search reads. */
    private static final long MOST_LOOKED_AT = 1L << 30;

    /**
     * A record with a known offset.
     *
     * @param offset its offset
     * @param position the position after which it begins
     */
    public record Found(long offset, long position) {}

    private final LogReaderV2 reader;
    private final Geometry geometry;
    private final LongSupplier published;

    /**
     * @param reader a reader that nothing else uses
     * @param published everything before this position is published
     */
    public DamageSkip(LogReaderV2 reader, LongSupplier published) {
        this.reader = reader;
        this.geometry = reader.geometry();
        this.published = published;
    }

    /**
     * Finds the first record after a damaged one.
     *
     * @param position the position at which reading has failed
     * @param number the offset of the record that begins there
     * @return null if no offset after the damage is known yet, because the writer has not rolled into the next segment
     */
    public Found after(long position, long number) throws IOException {
        long end = published.getAsLong();
        try {
            Found one = afterOne(position, number, end);
            if (one != null) {
                return one;
            }
            long id = geometry.segmentOf(position);
            int from = Math.max(geometry.dataStart(), (int) (position - geometry.position(id, 0)));
            Found here = within(id, from, number, end);
            return here != null ? here : inLater(id + 1, number, end);
        } finally {
            reader.leave();
        }
    }

    // Walks over damage, from a known record at or before the offset to the record with that offset. Returns that
    // record or, if it is lost, the first later one with a known offset; null if none is known yet.
    private Found walk(Found from, long offset) throws IOException {
        Found at = from;
        while (at != null && at.offset() < offset) {
            at = next(at);
        }
        reader.leave();
        return at;
    }

    private Found next(Found at) throws IOException {
        try {
            reader.moveTo(at.position());
            if (!reader.next()) {
                return null;
            }
            reader.skipChecked(published.getAsLong());
            reader.advance();
            return new Found(at.offset() + 1, reader.position());
        } catch (CorruptException e) {
            return after(reader.position(), at.offset());
        }
    }

    /**
     * Finds a record by its offset, from the segment headers that are intact.
     *
     * @param offset the record's offset; -1 for the first record with a known offset
     * @param start the log start: the position after which the oldest retained record begins
     * @return the record, or, if it is lost, the first later one with a known offset; null if none is known yet
     */
    public Found locate(long offset, long start) throws IOException {
        long first = geometry.segmentOf(start);
        long last = geometry.segmentOfEnd(published.getAsLong());
        for (long id = last; id >= first; id--) {
            Found begin = begin(id);
            if (begin != null && begin.offset() <= offset) {
                return walk(begin, offset);
            }
        }
        for (long id = first; id <= last; id++) {
            Found begin = begin(id);
            if (begin != null && begin.position() >= start) {
                return begin;
            }
        }
        return null;
    }

    /**
     * Returns an offset that the record after a position has at least: the base index of the last segment before it
     * with an intact header; 0 if there is none.
     */
    public long leastOffsetAt(long position) throws IOException {
        long id = geometry.segmentOf(position);
        for (long oldest = Math.max(0, id - geometry.capacity()); id >= oldest; id--) {
            Found begin = begin(id);
            if (begin != null && begin.position() <= position) {
                return begin.offset();
            }
        }
        return 0;
    }

    /**
     * Computes the offset of the record that begins after a position, counting back from the next segment.
     *
     * @return -1 if the offset is unknown: no intact record begins there, or other damage follows in the segment
     */
    public long offsetAt(long position) throws IOException {
        long id = geometry.segmentOf(position);
        int from = (int) (position - geometry.position(id, 0));
        int at = from == 0 ? geometry.dataStart() : from;
        long end = published.getAsLong();
        if (at < geometry.dataStart() || at % Long.BYTES != 0 || geometry.position(id, at) >= end) {
            return -1;
        }
        Segment segment = reader.swapper().pinIfThere(id, reader.queue());
        if (segment == null) {
            return -1;
        }
        try {
            Chain chain = isWhole(segment, at) ? chain(id, at, end) : NO_CHAIN;
            return chain.next < 0 ? -1 : chain.next - chain.records;
        } finally {
            reader.swapper().unpin(segment);
            reader.leave();
        }
    }

    // ---- a single record with a length that can be trusted

    private Found afterOne(long position, long number, long end) throws IOException {
        try {
            reader.moveTo(position);
            if (reader.next() && !reader.skipChecked(end)) {
                reader.advance();
                return new Found(number + 1, reader.position());
            }
        } catch (CorruptException e) {
            // The length may be damaged.
        }
        return null;
    }

    // ---- within the segment of the damage

    private Found within(long id, int from, long number, long end) throws IOException {
        Segment segment = reader.swapper().pinIfThere(id, reader.queue());
        if (segment == null) {
            return null; // without the header its epoch is unknown, which is part of each checksum
        }
        try {
            long left = MOST_LOOKED_AT;
            int at = from + Long.BYTES;
            while (at < reader.segmentSize() && geometry.position(id, at) < end && left > 0) {
                if (!isWhole(segment, at)) {
                    at += Long.BYTES;
                    left -= Long.BYTES + reader.length();
                    continue;
                }
                Chain chain = chain(id, at, end);
                long first = chain.next - chain.records;
                // Each lost record took at least 8 bytes.
                if (chain.next >= 0 && first >= number && first - number <= (at - from) / Long.BYTES) {
                    return new Found(first, before(id, at));
                }
                left -= chain.end - at;
                at = Math.max(at + Long.BYTES, chain.end);
            }
            return null;
        } finally {
            reader.swapper().unpin(segment);
        }
    }

    // Whether an intact record or pad begins at this byte.
    private boolean isWhole(Segment segment, int at) throws IOException {
        int flags = RecordDescriptor.lengthAndFlags(segment.headerAcquire(at));
        if (flags == 0 && segment.headerAcquire(at) == 0 || (flags & RecordDescriptor.RESERVED) != 0) {
            return false;
        }
        try {
            begin(segment.id(), at);
            if (reader.nextHere(reader.segmentSize())) {
                reader.check();
                return true;
            }
            return reader.position() >= geometry.position(segment.id(), reader.segmentSize()); // a pad or a gap
        } catch (CorruptException e) {
            return false;
        } finally {
            reader.forgetEnd();
        }
    }

    /**
     * Consecutive intact records, up to the end of the segment in which they begin.
     *
     * @param records number of records
     * @param next the offset of the record after them; -1 if they do not lead to the segment's end
     * @param end byte of the segment at which they end
     */
    private record Chain(long records, long next, int end) {}

    private static final Chain NO_CHAIN = new Chain(0, -1, 0);

    private Chain chain(long id, int from, long end) throws IOException {
        long records = 0;
        int at = from;
        try {
            begin(id, from);
            while (reader.segmentId() == id && reader.segmentOffset() < reader.segmentSize()) {
                at = reader.segmentOffset();
                if (reader.nextHere(reader.segmentSize())) {
                    reader.skipChecked(end);
                    reader.advance();
                    records++;
                } else if (reader.segmentId() == id && reader.segmentOffset() < reader.segmentSize()) {
                    return new Chain(records, -1, at); // the log end
                }
            }
        } catch (CorruptException e) {
            return new Chain(records, -1, at);
        }
        return new Chain(records, nextOffset(id), reader.segmentSize());
    }

    // The offset of the record after the last one: the base index of the segment in which the last record ends, or
    // of the following segment when it ends at a segment's end.
    private long nextOffset(long id) throws IOException {
        boolean spans = reader.segmentId() > id;
        int first = spans
                ? reader.segmentOffset() == reader.segmentSize() ? 0 : reader.segmentOffset()
                : geometry.dataStart();
        Segment anchor = reader.swapper().pinIfThere(spans ? reader.segmentId() : id + 1, reader.queue());
        if (anchor == null) {
            return -1;
        }
        try {
            return anchor.firstRecord() == first || !spans && anchor.firstRecord() == 0 ? anchor.baseOffset() : -1;
        } finally {
            reader.swapper().unpin(anchor);
        }
    }

    private void begin(long id, int at) throws IOException {
        reader.moveTo(before(id, at));
        if (at == geometry.dataStart()) {
            reader.nextSegment(at);
        }
    }

    // The position after which the record at this byte of a segment begins (the end of the segment before, for its
    // first byte).
    private long before(long id, int at) {
        return geometry.position(id, at == geometry.dataStart() ? 0 : at);
    }

    // ---- in later segments

    private Found inLater(long from, long number, long end) throws IOException {
        long last = geometry.segmentOfEnd(end);
        for (long id = from; id <= last; id++) {
            Found begin = begin(id);
            if (begin != null && begin.offset() >= number && begin.position() <= end) {
                return begin;
            }
        }
        return null;
    }

    // The first record of a segment with an intact header; null without one.
    private Found begin(long id) throws IOException {
        Segment segment = reader.swapper().pinIfThere(id, reader.queue());
        if (segment == null) {
            return null;
        }
        try {
            int first = segment.firstRecord();
            return first == 0 ? null : new Found(segment.baseOffset(), before(id, first));
        } finally {
            reader.swapper().unpin(segment);
        }
    }
}
