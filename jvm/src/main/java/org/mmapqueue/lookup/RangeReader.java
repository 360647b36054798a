package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.log.BatchDelivery;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.log.SkippedDamage;

/**
 * Reads the records of a range in order. Each reader is for one thread at a time.
 *
 * <p>It retains no record: a record that no consumer needs may be overwritten before it is read, and the read then
 * throws {@link OutOfRangeException}. Between calls no segment is pinned.
 */
public final class RangeReader implements Closeable {
    private final LogReaderV2 reader;
    private final LogCursor cursor;
    private final GuardedLog untold = new GuardedLog();
    private final SkippedDamage skipped = new SkippedDamage("a reader of a range", untold);
    private final BatchDelivery delivery = new BatchDelivery(this::fetch, this::undelivered);
    private final BooleanSupplier gone;
    private final Consumer<RangeReader> forget;
    private final long to;

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
        this.cursor = new LogCursor(reader, randomAccess, skip, skipped);
        this.gone = gone;
        this.forget = forget;
        this.to = to;
        cursor.seek(from);
        cursor.read(to, 0, () -> false);
        untold.tell();
    }

    /** The damaged ranges that were skipped. */
    public SkippedDamage damage() {
        return skipped;
    }

    /** The offset of the next record; the range's end after the last one. */
    public synchronized long offset() {
        return cursor.offset();
    }

    /** The number of segments read so far. */
    public synchronized long segments() {
        return cursor.segments();
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
        try {
            return delivery.deliver(0, maxRecords, maxBytes, own, handler);
        } finally {
            untold.tell();
        }
    }

    private synchronized void undelivered(RecordBatch batch) {
        cursor.seek(batch.offset(batch.delivered()));
    }

    private final class Filling implements LogCursor.Taker {
        private final RecordBatch batch;

        Filling(RecordBatch batch) {
            this.batch = batch;
        }

        @Override
        public boolean take() throws IOException {
            return batch.read(reader, cursor.offset());
        }

        @Override
        public int takePlain(int most) {
            return batch.readPlain(reader, most);
        }
    }

    // Only the first batch of a call throws; a later error is left to the next call.
    private synchronized RecordBatch fetch(long unused, int maxRecords, long maxBytes, boolean own, boolean first) {
        boolean usable = !closed && !gone.getAsBoolean();
        if (first && !usable) {
            throw new ClosedException("the reader, or the handle of the queue that gave it, is closed");
        }
        RecordBatch batch = delivery.take(0, maxBytes, own, first, RecordBatch.MOST_BYTES);
        try {
            if (usable) {
                cursor.read(to, maxRecords, new Filling(batch));
            }
        } catch (RuntimeException | Error e) {
            if (first && batch.count() == 0) {
                delivery.put(batch);
                throw e;
            }
        }
        return batch;
    }

    /** Waits for the running call; later calls throw ClosedException. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        forget.accept(this);
    }
}
