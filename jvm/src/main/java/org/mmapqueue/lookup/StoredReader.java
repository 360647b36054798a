package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.util.function.Consumer;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * Reads records as the log stores them, and checks each. Lost records are delivered as gaps of their own, whatever
 * gaps the log has there. Retains no record, and pins no segment between calls. Each reader is for one thread at a time.
 */
public final class StoredReader implements Closeable {
    /** The maximum number of lost records of one gap that is delivered. */
    private static final long MOST_LOST = Integer.MAX_VALUE;

    private final LogReaderV2 reader;
    private final LogCursor cursor;
    private final RecordChecksum checksum;
    private final Consumer<Closeable> forget;
    private byte[] payload = new byte[0];
    /** The offset after what this call has delivered. */
    private long reached;
    /** The bytes that this call may still deliver. */
    private long left;

    private boolean closed;

    /** @param forget called when the reader is closed */
    StoredReader(LogReaderV2 reader, RandomAccessReader randomAccess, Consumer<Closeable> forget) {
        this.reader = reader;
        this.checksum = new RecordChecksum(reader.queue());
        this.cursor = new LogCursor(reader, randomAccess, null, null);
        this.forget = forget;
    }

    /**
     * Reads records.
     *
     * @param from the first record's offset; fastest at the offset at which the last call ended
     * @param to the offset after the last record
     * @param maxBytes the maximum number of bytes of records in the log, headers included; a larger first record is
     *     read nevertheless
     * @param sink called with each record, in order; the array is reused for the next record. It must not wait, because
     *     a close waits for it
     * @return the offset after the last record; {@code from} if the first one has not been pushed yet
     * @throws OutOfRangeException if the first record is not retained, or the first offset is beyond the log end
     * @throws CorruptException if the first record is damaged
     * @throws ClosedException if this reader or the queue is closed
     */
    public synchronized long read(long from, long to, long maxBytes, StoredRecordSink sink) {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
        reached = from;
        left = maxBytes;
        cursor.seek(from);
        try {
            cursor.read(to, Integer.MAX_VALUE, () -> take(from, sink));
        } catch (CorruptException e) {
            if (cursor.offset() == from) {
                throw e;
            }
        }
        deliverLost(sink);
        return reached;
    }

    private boolean take(long from, StoredRecordSink sink) throws IOException {
        deliverLost(sink);
        long bytes = (long) RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(reader.lengthAndFlags());
        if (reached > from && bytes > left) {
            return false;
        }
        deliver(sink);
        left -= bytes;
        reached++;
        return true;
    }

    // Delivers the gap before the cursor's offset.
    private void deliverLost(StoredRecordSink sink) {
        while (reached < cursor.offset()) {
            long lost = Math.min(cursor.offset() - reached, MOST_LOST);
            long header = checksum.gapHeader(reached, lost, Long.BYTES);
            sink.take(new StoredRecord(
                    reached,
                    reached,
                    0,
                    RecordDescriptor.lengthAndFlags(header),
                    RecordDescriptor.checksum(header),
                    0,
                    lost,
                    payload,
                    0,
                    0));
            reached += lost;
        }
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
                reader.nextOffset(),
                baseOffset,
                baseTime,
                reader.lengthAndFlags(),
                reader.checksum(),
                reader.timestamp(),
                0,
                payload,
                0,
                length));
    }

    /** Waits for the running call; later calls throw ClosedException. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        forget.accept(this);
    }
}
