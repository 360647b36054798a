package org.mmapqueue.queue;

import java.io.IOException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Reads the records of a range in order, from a place of its own, and moves no consumer. A queue may have any number of
 * readers, and they do not wait for one another; each is for one thread at a time.
 *
 * <p>It holds no record: what no consumer needs may be overwritten before it is read. That is told then by an {@link
 * OutOfRangeException}; no call gives anything else than the records of the range. Between calls nothing is pinned, so
 * a reader that rests is in nobody's way.
 */
public final class RecordReader implements AutoCloseable {
    private final LogReaderV2 reader;
    private final Browser browser;
    private final BooleanSupplier gone;
    private final Consumer<RecordReader> forget;
    private final long to;
    private long offset;
    private long segments;
    /** The last segment that is among those. */
    private long lastSegment = -1;
    /** Whether the log reader stands before the next record. */
    private boolean placed;
    private final SpareBatch spare = new SpareBatch();
    private boolean closed;

    /**
     * A reader that stands before the first record of its range.
     *
     * @param gone whether the handle is closed that gives it
     * @param forget is told when it is closed
     */
    RecordReader(LogReaderV2 reader, Browser browser, BooleanSupplier gone, Consumer<RecordReader> forget, long from,
            long to) {
        if (from < 0 || to < from) {
            throw new IllegalArgumentException("from = " + from + ", to = " + to + "; expected 0 <= from <= to");
        }
        this.reader = reader;
        this.browser = browser;
        this.gone = gone;
        this.forget = forget;
        this.offset = from;
        this.to = to;
        reader.moveTo(browser.locate(from).position());
        placed = true;
    }

    /**
     * The next record.
     *
     * @return the offset of the record that is read next; the range's end when all have been read
     */
    public synchronized long offset() {
        return offset;
    }

    /**
     * How much of the ring it has gone through.
     *
     * @return in how many segments it has read so far
     */
    public synchronized long segments() {
        return segments;
    }

    /**
     * Reads records, each into an array of its own.
     *
     * @param maxRecords the most records, at least 1
     * @param maxBytes the most bytes of payload, at least 1; a first record that is larger is read all the same
     * @param sink gets them, in order
     * @return how many there were; 0 at the end of the range, or when the next one has not been pushed yet
     * @throws OutOfRangeException when the next one is not retained any more
     * @throws CorruptException when the next one is damaged
     * @throws ClosedException when it, or the queue's handle, is closed
     */
    public int read(int maxRecords, long maxBytes, RecordSink sink) {
        return read(maxRecords, maxBytes, true,
                (number, timestamp, data, start, length, attempts) -> sink.take(number, timestamp, data));
    }

    /**
     * Reads records without an allocation for each; see {@link #read(int, long, RecordSink)}.
     *
     * @param maxRecords the most records, at least 1
     * @param maxBytes the most bytes of payload, at least 1; a first record that is larger is read all the same
     * @param handler gets them, in order, with 0 attempts
     * @return how many there were; 0 at the end of the range, or when the next one has not been pushed yet
     */
    public int read(int maxRecords, long maxBytes, MessageHandler handler) {
        return read(maxRecords, maxBytes, false, handler);
    }

    private int read(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        if (maxRecords < 1 || maxBytes < 1) {
            throw new IllegalArgumentException("maxRecords = " + maxRecords + ", maxBytes = " + maxBytes
                    + "; both must be at least 1");
        }
        int count = 0;
        long bytesLeft = maxBytes;
        while (true) {
            RecordBatch batch = fetch(maxRecords - count, bytesLeft, own, count == 0);
            count += batch.count();
            bytesLeft -= batch.bytes();
            boolean isLast = !batch.isFull();
            try {
                batch.deliver(handler);
            } finally {
                if (batch.delivered() < batch.count()) {
                    goBack(batch.offset(batch.delivered()));
                }
                spare.giveBack(batch);
            }
            if (isLast) {
                return count;
            }
        }
    }

    private synchronized void goBack(long to) {
        offset = to;
        placed = false;
    }

    // Once the caller has records, nothing is raised: the next call meets it.
    private synchronized RecordBatch fetch(int maxRecords, long maxBytes, boolean own, boolean first) {
        boolean usable = !closed && !gone.getAsBoolean();
        if (first && !usable) {
            throw new ClosedException("the reader, or the handle of the queue that gave it, is closed");
        }
        RecordBatch batch = spare.take();
        batch.begin(own, 0);
        boolean fetched = false;
        try {
            if (usable) {
                fill(batch, maxRecords, maxBytes, first);
            }
            fetched = true;
            return batch;
        } catch (CorruptException e) {
            throw lostOr(e);
        } catch (IOException e) {
            throw new MmapQueueException("record " + offset + " could not be read: " + e, e);
        } catch (InternalError e) {
            throw TruncatedFiles.explain(e, reader.swapper.ring());
        } finally {
            if (!fetched) {
                spare.giveBack(batch);
            }
            reader.leave();
        }
    }

    private void fill(RecordBatch batch, int maxRecords, long maxBytes, boolean first) throws IOException {
        long before = offset;
        long segment = -1;
        try {
            if (!placed) {
                reader.moveTo(browser.locate(offset).position());
                placed = true;
            }
            segment = reader.offset == reader.segmentSize ? reader.segmentId + 1 : reader.segmentId;
            while (batch.count() < maxRecords && offset < to && reader.next() && take(batch, maxBytes, first)) {
                reader.advance();
                offset++;
            }
        } catch (IOException | RuntimeException | Error e) {
            if (first && batch.count() == 0) {
                throw e;
            }
        } finally {
            if (offset > before) {
                countSegments(segment, reader.segmentId);
            }
        }
    }

    // Passes the tombstone of a record that was lost.
    private boolean take(RecordBatch batch, long maxBytes, boolean first) throws IOException {
        if (reader.lost) {
            reader.skip();
            return true;
        }
        if (!batch.takes(reader.length, maxBytes, first)) {
            return false;
        }
        reader.read(batch.room(reader.length), batch.start());
        batch.add(offset, reader.timestamp, reader.length, 0);
        return true;
    }

    // They come one after the other, and the one where a call ends is mostly that where the next one begins.
    private void countSegments(long first, long last) {
        segments += last - Math.max(first, lastSegment + 1) + 1;
        lastSegment = last;
    }

    // What was overwritten while it was read looks like damage.
    private RuntimeException lostOr(CorruptException damage) {
        try {
            browser.checkRetained(offset);
        } catch (OutOfRangeException e) {
            return e;
        }
        return damage;
    }

    /** Waits for the call that is under way; every later one raises ClosedException. A second close does nothing. */
    @Override
    public synchronized void close() {
        closed = true;
        forget.accept(this);
    }
}
