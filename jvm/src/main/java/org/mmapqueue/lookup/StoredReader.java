package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.util.function.Consumer;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.TruncatedFiles;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * Reads records as the log stores them, tombstones included, and checks each. Retains no record, and pins no segment
 * between calls. Each reader is for one thread at a time.
 */
public final class StoredReader implements Closeable {
    private static final long NOWHERE = -1;

    private final LogReaderV2 reader;
    private final RandomAccessReader randomAccess;
    private final Consumer<Closeable> forget;
    /** The offset of the record that the log reader is before, or {@link #NOWHERE}. */
    private long next = NOWHERE;

    private byte[] payload = new byte[0];
    private boolean closed;

    /** @param forget called when the reader is closed */
    StoredReader(LogReaderV2 reader, RandomAccessReader randomAccess, Consumer<Closeable> forget) {
        this.reader = reader;
        this.randomAccess = randomAccess;
        this.forget = forget;
    }

    /**
     * Reads records.
     *
     * @param from the first record's offset; fastest at the offset at which the last call ended
     * @param to the offset after the last record
     * @param maxBytes the most bytes of records in the log, headers included; a larger first record is read nevertheless
     * @param sink called with each record, in order; the array is reused for the next record. It must not wait, because
     *     a close waits for it
     * @return the number of records; 0 if the first one has not been pushed yet
     * @throws OutOfRangeException if the first record is not retained, or the first offset is beyond the log end
     * @throws CorruptException if the first record is damaged
     * @throws ClosedException if this reader or the queue is closed
     */
    public synchronized int read(long from, long to, long maxBytes, StoredRecordSink sink) {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
        // Where the last call ended may be a pad, in a segment that has been reclaimed since: the next record is in a
        // later one.
        boolean isKept = next == from;
        while (true) {
            try {
                return readOn(from, to, maxBytes, sink);
            } catch (CorruptException e) {
                if (!isKept) {
                    throw randomAccess.lostOr(from, e);
                }
                isKept = false;
            }
        }
    }

    private int readOn(long from, long to, long maxBytes, StoredRecordSink sink) {
        int count = 0;
        try {
            if (next != from) {
                reader.moveTo(randomAccess.locate(from).position());
                reader.expect(from);
                next = from;
            }
            for (long left = maxBytes; next < to && reader.next(); count++) {
                long bytes = (long) RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(reader.lengthAndFlags());
                if (count > 0 && bytes > left) {
                    break;
                }
                deliver(sink);
                left -= bytes;
                next++;
            }
        } catch (CorruptException e) {
            next = NOWHERE;
            if (count == 0) {
                throw e;
            }
        } catch (IOException e) {
            next = NOWHERE;
            throw new MmapQueueException("record " + (from + count) + " could not be read: " + e, e);
        } catch (InternalError e) {
            throw TruncatedFiles.explain(e, reader.swapper().ring());
        } finally {
            reader.leave();
        }
        return count;
    }

    private void deliver(StoredRecordSink sink) throws IOException {
        long baseOffset = reader.baseOffset();
        long baseTime = reader.baseTime();
        int length = reader.length();
        if (payload.length < length) {
            payload = new byte[Math.max(length, 2 * payload.length)];
        }
        reader.read(payload, 0);
        sink.take(new StoredRecord(
                next,
                baseOffset,
                baseTime,
                reader.lengthAndFlags(),
                reader.checksum(),
                reader.timestamp(),
                payload,
                0,
                length));
        reader.advance();
    }

    /** Waits for the running call; later calls throw ClosedException. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        forget.accept(this);
    }
}
