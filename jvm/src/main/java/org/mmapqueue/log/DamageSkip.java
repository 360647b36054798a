package org.mmapqueue.log;

import java.io.IOException;
import java.util.function.LongSupplier;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;

/**
 * Finds the next intact record after damage. A record says its offset, so all intact records are found, in segments with
 * an intact header (decision 040). Uses a reader of its own; not thread-safe.
 */
public final class DamageSkip {
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
     * Finds the first intact record after a damaged one.
     *
     * @param position the position at which reading has failed
     * @param offset the offset of the record that begins there
     * @return null if no intact record follows yet
     */
    public Found after(long position, long offset) throws IOException {
        long end = published.getAsLong();
        long id = geometry.segmentOf(position);
        try {
            Found found = from(id, at(id, position) + Long.BYTES, offset, end);
            return found != null ? found : afterLast(position, offset, end);
        } finally {
            reader.leave();
        }
    }

    /**
     * Finds a record by its offset, from the segment headers that are intact.
     *
     * @param offset the record's offset; -1 for the first intact record
     * @param start the log start: the position after which the oldest retained record begins
     * @return the record, or, if it is lost, the first intact one after it; null if none follows yet
     */
    public Found locate(long offset, long start) throws IOException {
        long end = published.getAsLong();
        long first = geometry.segmentOf(start);
        try {
            Found at = null;
            for (long id = geometry.segmentOfEnd(end); id >= first && at == null; id--) {
                Found begin = begin(id);
                at = begin != null && begin.offset() <= offset ? begin : null;
            }
            if (at == null) {
                at = from(first, at(first, start), 0, end);
            }
            while (at != null && at.offset() < offset) {
                at = next(at);
            }
            return at;
        } finally {
            reader.leave();
        }
    }

    private Found next(Found at) throws IOException {
        try {
            reader.moveTo(at.position());
            reader.expect(at.offset());
            if (!reader.next()) {
                return null;
            }
            reader.check();
            reader.advance();
            return new Found(reader.nextOffset(), reader.position());
        } catch (CorruptException e) {
            return after(reader.position(), reader.nextOffset());
        }
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

    /** The offset of the intact record that begins after a position; -1 if none does. */
    public long offsetAt(long position) throws IOException {
        if (position >= published.getAsLong()) {
            return -1;
        }
        try {
            reader.moveTo(position);
            return reader.offsetHere(0, Long.MAX_VALUE);
        } catch (CorruptException e) {
            return -1;
        } finally {
            reader.leave();
        }
    }

    // The first intact record from a byte of a segment on that has at least this offset.
    private Found from(long id, int at, long least, long end) throws IOException {
        Found here = within(id, at, least, end);
        return here != null ? here : inLater(id + 1, least, end);
    }

    // Bytes of the segment may look like a record and be none of the log: a copy in a payload, which has a lower
    // offset, or a record that a recovery has cut off, which has at least the base offset of the next segment.
    private Found within(long id, int from, long least, long end) throws IOException {
        int limit = (int) Math.min(geometry.segmentSize(), end - geometry.position(id, 0));
        if (from >= limit || baseOffset(id) < 0) {
            return null;
        }
        long below = Long.MAX_VALUE;
        for (long later = id + 1; later <= geometry.segmentOfEnd(end) && below == Long.MAX_VALUE; later++) {
            long base = baseOffset(later);
            below = base < 0 ? below : base;
        }
        reader.moveTo(geometry.position(id, from));
        for (int at = from; at < limit; at += Long.BYTES) {
            reader.goTo(at);
            long offset = reader.offsetHere(least, below);
            if (offset >= 0) {
                return new Found(offset, before(id, at));
            }
        }
        return null;
    }

    private Found inLater(long from, long least, long end) throws IOException {
        for (long id = from; id <= geometry.segmentOfEnd(end); id++) {
            Found begin = begin(id);
            if (begin != null && begin.offset() >= least && begin.position() <= end) {
                return begin;
            }
        }
        return null;
    }

    // The log end, if the damaged record is the last one by its length. A wrong length does no harm: the record that
    // is pushed next says its own offset.
    private Found afterLast(long position, long offset, long end) throws IOException {
        try {
            reader.moveTo(position);
            reader.expect(offset);
            if (reader.next()) {
                reader.skip();
                reader.advance();
                return reader.position() == end ? new Found(reader.nextOffset(), end) : null;
            }
        } catch (CorruptException e) {
            // The length is damaged.
        }
        return null;
    }

    private int at(long id, long position) {
        return Math.max(geometry.dataStart(), (int) (position - geometry.position(id, 0)));
    }

    // The position after which the record at this byte of a segment begins (the end of the segment before, for its
    // first byte).
    private long before(long id, int at) {
        return geometry.position(id, at == geometry.dataStart() ? 0 : at);
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

    // The base offset of a segment; -1 without an intact header.
    private long baseOffset(long id) throws IOException {
        Segment segment = reader.swapper().pinIfThere(id, reader.queue());
        if (segment == null) {
            return -1;
        }
        try {
            return segment.baseOffset();
        } finally {
            reader.swapper().unpin(segment);
        }
    }
}
