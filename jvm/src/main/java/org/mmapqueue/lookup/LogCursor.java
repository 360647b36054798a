package org.mmapqueue.lookup;

import java.io.IOException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.SkippedDamage;
import org.mmapqueue.log.TruncatedFiles;

/**
 * A place in the log, from which records are read in order. It retains no record: one that was overwritten is out of
 * range. Between calls no segment is pinned. Not thread-safe: its owner's lock guards it.
 */
final class LogCursor {
    /** Takes records from the reader, at the cursor's offset. */
    interface Taker {
        /** Takes the record that the reader has found; returns false to end the read before this record. */
        boolean take() throws IOException;

        /**
         * Takes records as long as {@link LogReader#nextPlain} finds them, and moves the reader behind them.
         *
         * @param most the maximum number of records
         * @return the number of taken records
         */
        default int takePlain(int most) {
            return 0;
        }
    }

    private final LogReaderV2 reader;
    private final RandomAccessReader randomAccess;
    private final DamageSkip skip;
    private final SkippedDamage skipped;
    private long offset = -1;
    /** Whether the log reader is before the record of the offset, or before a pad or gaps after which it begins. */
    private boolean placed;

    private long segments;
    /** The id of the last segment that was counted. */
    private long lastSegment = -1;

    /**
     * @param reader a reader that no other object moves
     * @param randomAccess finds the records
     * @param skip finds the next record after damage; null to throw at damage
     * @param skipped gets the damaged ranges that were skipped
     */
    LogCursor(LogReaderV2 reader, RandomAccessReader randomAccess, DamageSkip skip, SkippedDamage skipped) {
        this.reader = reader;
        this.randomAccess = randomAccess;
        this.skip = skip;
        this.skipped = skipped;
    }

    /** The offset of the next record, or the end of the last read in a gap. */
    long offset() {
        return offset;
    }

    /** The number of segments read so far. */
    long segments() {
        return segments;
    }

    /** Moves to a record, which the next read finds; costs nothing if the cursor is there. */
    void seek(long wanted) {
        placed &= wanted == offset;
        offset = wanted;
    }

    /**
     * Reads on.
     *
     * @param to the offset after the last record
     * @param most the maximum number of records; 0 to find the first record alone
     * @param taker takes each record
     * @throws OutOfRangeException if the next record is not retained, or is beyond the log end
     * @throws CorruptException if it is damaged
     */
    void read(long to, int most, Taker taker) {
        try {
            boolean isKept = placed;
            if (!isKept) {
                locate(to);
            }
            long before = offset;
            long first = reader.segmentByte() == reader.segmentSize() ? reader.segmentId() + 1 : reader.segmentId();
            try {
                readOn(to, most, taker, isKept);
            } finally {
                if (offset > before) {
                    count(first, reader.segmentId());
                }
            }
        } catch (CorruptException e) {
            throw randomAccess.lostOr(offset, e);
        } catch (IOException e) {
            throw new MmapQueueException("record " + offset + " could not be read: " + e, e);
        } catch (InternalError e) {
            throw TruncatedFiles.explain(e, reader.swapper().ring());
        } finally {
            reader.leave();
        }
    }

    private void readOn(long to, int most, Taker taker, boolean kept) throws IOException {
        boolean isKept = kept;
        int left = most;
        while (left > 0 && offset < to) {
            try {
                int plain = taker.takePlain((int) Math.min(left, to - offset));
                if (plain > 0) {
                    offset += plain;
                    left -= plain;
                    isKept = false;
                    continue;
                }
                boolean isThere = reader.next();
                passLost(to);
                if (!isThere || offset == to || !taker.take()) {
                    return;
                }
                reader.advance();
                offset++;
                left--;
            } catch (CorruptException e) {
                passLost(to);
                if (isKept) {
                    // The place may be before a pad, in a segment that has been reclaimed since: the record is in a
                    // later one.
                    locate(to);
                } else {
                    skip(e, skip == null ? null : skip.after(reader.position(), offset), to);
                }
            }
            isKept = false;
        }
    }

    // Moves to the record of the offset; if that is damaged, to the first one after it with a known offset.
    private void locate(long to) throws IOException {
        try {
            RandomAccessReader.OffsetPosition found = randomAccess.locate(offset);
            moveTo(found.position(), found.offset(), to);
        } catch (CorruptException e) {
            skip(e, skip == null ? null : skip.locate(offset, randomAccess.start()), to);
        }
        placed = true;
    }

    private void skip(CorruptException damage, DamageSkip.Found found, long to) {
        if (found == null) {
            throw damage;
        }
        RuntimeException cause = randomAccess.lostOr(offset, damage);
        if (cause != damage) {
            throw cause;
        }
        if (found.offset() > offset && offset < to) {
            skipped.add(damage, offset, Math.min(found.offset(), to));
        }
        moveTo(found.position(), found.offset(), to);
    }

    private void moveTo(long position, long found, long to) {
        reader.moveTo(position);
        reader.expect(found);
        passLost(to);
    }

    // Continues at the record that the reader is before: others were lost.
    private void passLost(long to) {
        offset = Math.max(offset, Math.min(reader.nextOffset(), to));
    }

    // Counts the segments of one call. Calls read ascending segments; a call mostly begins in the segment in which the
    // last one ended.
    private void count(long first, long last) {
        segments += last - Math.max(first, lastSegment + 1) + 1;
        lastSegment = last;
    }
}
