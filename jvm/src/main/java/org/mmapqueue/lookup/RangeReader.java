package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.log.BatchDelivery;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.log.SkippedDamage;
import org.mmapqueue.log.TruncatedFiles;

/**
 * Reads the records of a range in order. Each reader is for one thread at a time.
 *
 * <p>It retains no record: a record that no consumer needs may be overwritten before it is read, and the read then
 * throws {@link OutOfRangeException}. Between calls no segment is pinned.
 */
public final class RangeReader implements Closeable {
    private final LogReaderV2 reader;
    private final RandomAccessReader randomAccess;
    private final DamageSkip skip;
    private final SkippedDamage skipped = new SkippedDamage("a reader of a range");
    private final BatchDelivery delivery = new BatchDelivery(this::fetch, this::undelivered);
    private final BooleanSupplier gone;
    private final Consumer<RangeReader> forget;
    private final long to;
    private long offset;
    private long segments;
    /** The id of the last segment that was counted. */
    private long lastSegment = -1;
    /** Whether the log reader is positioned before the next record. */
    private boolean placed;

    private boolean closed;

    /**
     * Starts before the first record of the range.
     *
     * @param skip finds the next record after damage; null to throw at damage
     * @param gone returns whether the handle that returned the reader is closed
     * @param forget called when the reader is closed
     */
    RangeReader(
            LogReaderV2 reader,
            RandomAccessReader randomAccess,
            DamageSkip skip,
            BooleanSupplier gone,
            Consumer<RangeReader> forget,
            long from,
            long to) {
        if (from < 0 || to < from) {
            throw new IllegalArgumentException("from = " + from + ", to = " + to + "; expected 0 <= from <= to");
        }
        this.reader = reader;
        this.randomAccess = randomAccess;
        this.skip = skip;
        this.gone = gone;
        this.forget = forget;
        this.offset = from;
        this.to = to;
        try {
            locate();
        } catch (IOException e) {
            throw new MmapQueueException("record " + from + " could not be found: " + e, e);
        }
    }

    // Moves to the record of the offset; if that is damaged, to the first one after it with a known offset.
    private void locate() throws IOException {
        try {
            RandomAccessReader.OffsetPosition found = randomAccess.locate(offset);
            moveTo(found.position(), found.offset());
        } catch (CorruptException e) {
            DamageSkip.Found found = skip == null ? null : skip.locate(offset, randomAccess.start());
            if (found == null) {
                throw e;
            }
            skipTo(e, found);
        }
        placed = true;
    }

    private void skipTo(CorruptException damage, DamageSkip.Found found) {
        try {
            randomAccess.checkRetained(offset); // throws if the record was overwritten, which looks like damage
        } catch (CorruptException e) {
            // The same damage hides the offset of the log start.
        }
        if (found.offset() > offset && offset < to) {
            skipped.add(damage, offset, Math.min(found.offset(), to));
        }
        moveTo(found.position(), found.offset());
    }

    private void moveTo(long position, long found) {
        reader.moveTo(position);
        reader.expect(found);
        passLost();
    }

    // Continues at the record that the reader is before: others were lost.
    private void passLost() {
        offset = Math.max(offset, Math.min(reader.nextOffset(), to));
    }

    /** The damaged ranges that were skipped. */
    public SkippedDamage damage() {
        return skipped;
    }

    /** The offset of the next record; the range's end after the last one. */
    public synchronized long offset() {
        return offset;
    }

    /** The number of segments read so far. */
    public synchronized long segments() {
        return segments;
    }

    /**
     * As {@code RecordReader.read}.
     *
     * @param own whether each record is in an array of its own
     */
    public int read(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        if (maxRecords < 1 || maxBytes < 1) {
            throw new IllegalArgumentException(
                    "maxRecords = " + maxRecords + ", maxBytes = " + maxBytes + "; both must be at least 1");
        }
        return delivery.deliver(0, maxRecords, maxBytes, own, handler);
    }

    private synchronized void undelivered(RecordBatch batch) {
        offset = batch.offset(batch.delivered());
        placed = false;
    }

    // Only the first batch of a call throws; a later error is left to the next call.
    private synchronized RecordBatch fetch(long unused, int maxRecords, long maxBytes, boolean own, boolean first) {
        boolean usable = !closed && !gone.getAsBoolean();
        if (first && !usable) {
            throw new ClosedException("the reader, or the handle of the queue that gave it, is closed");
        }
        RecordBatch batch = delivery.take(0, maxBytes, own, first);
        boolean fetched = false;
        try {
            if (usable) {
                fill(batch, maxRecords, first);
            }
            fetched = true;
            return batch;
        } catch (CorruptException e) {
            throw randomAccess.lostOr(offset, e);
        } catch (IOException e) {
            throw new MmapQueueException("record " + offset + " could not be read: " + e, e);
        } catch (InternalError e) {
            throw TruncatedFiles.explain(e, reader.swapper().ring());
        } finally {
            if (!fetched) {
                delivery.put(batch);
            }
            reader.leave();
        }
    }

    private void fill(RecordBatch batch, int maxRecords, boolean first) throws IOException {
        long before = offset;
        long segment = -1;
        try {
            boolean isKept = placed;
            if (!isKept) {
                locate();
            }
            segment = reader.segmentByte() == reader.segmentSize() ? reader.segmentId() + 1 : reader.segmentId();
            while (batch.count() < maxRecords && offset < to && step(batch, isKept)) {
                isKept = false;
            }
        } catch (IOException | RuntimeException | Error e) {
            if (first && batch.count() == 0) {
                throw e;
            }
        } finally {
            if (offset > before) {
                countSegments(segment, reader.segmentId());
            }
        }
    }

    // Adds the next record; false if no record follows, or it does not fit. A position that is kept from the last call
    // may be before a pad, in a segment that has been reclaimed since: the record is in a later one.
    private boolean step(RecordBatch batch, boolean isKept) throws IOException {
        try {
            boolean isThere = reader.next();
            passLost();
            if (!isThere || offset == to || !take(batch)) {
                return false;
            }
            reader.advance();
            offset++;
        } catch (CorruptException e) {
            passLost();
            if (isKept) {
                locate();
                return true;
            }
            DamageSkip.Found found = skip == null ? null : skip.after(reader.position(), offset);
            if (found == null) {
                throw e;
            }
            skipTo(e, found);
        }
        return true;
    }

    // Adds the record that was found.
    private boolean take(RecordBatch batch) throws IOException {
        if (!batch.takes(reader.length())) {
            return false;
        }
        reader.read(batch.room(reader.length()), batch.start());
        batch.add(offset, reader.timestamp(), reader.length(), 0);
        return true;
    }

    // Counts the segments of one call. Calls read ascending segments; a call mostly begins in the segment in which the
    // last one ended.
    private void countSegments(long first, long last) {
        segments += last - Math.max(first, lastSegment + 1) + 1;
        lastSegment = last;
    }

    /** Waits for the running call; later calls throw ClosedException. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        forget.accept(this);
    }
}
