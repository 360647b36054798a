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
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * Reads records as the log stores them, and checks each. Lost records are delivered as gaps of their own, whatever
 * gaps the log has there. Retains no record, and pins no segment between calls. Each reader is for one thread at a time.
 */
public final class StoredReader implements Closeable {
    private static final long NOWHERE = -1;
    /** The most lost records of one gap that is delivered. */
    private static final long MOST_LOST = Integer.MAX_VALUE;

    private final LogReaderV2 reader;
    private final RecordChecksum checksum;
    private final RandomAccessReader randomAccess;
    private final Consumer<Closeable> forget;
    /** The offset of the record that the log reader is before, or {@link #NOWHERE}. */
    private long next = NOWHERE;

    private byte[] payload = new byte[0];
    private boolean closed;

    /** @param forget called when the reader is closed */
    StoredReader(LogReaderV2 reader, RandomAccessReader randomAccess, Consumer<Closeable> forget) {
        this.reader = reader;
        this.checksum = new RecordChecksum(reader.queue());
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
     * @return the offset after the last record; {@code from} if the first one has not been pushed yet
     * @throws OutOfRangeException if the first record is not retained, or the first offset is beyond the log end
     * @throws CorruptException if the first record is damaged
     * @throws ClosedException if this reader or the queue is closed
     */
    public synchronized long read(long from, long to, long maxBytes, StoredRecordSink sink) {
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

    private long readOn(long from, long to, long maxBytes, StoredRecordSink sink) {
        long reached = from;
        try {
            if (next != from) {
                RandomAccessReader.OffsetPosition found = randomAccess.locate(from);
                reader.moveTo(found.position());
                reader.expect(found.offset());
            }
            next = NOWHERE; // unless this call succeeds
            long left = maxBytes;
            while (reached < to) {
                boolean isThere = reader.next();
                long at = Math.min(reader.nextOffset(), to);
                while (reached < at) {
                    reached = deliverGap(reached, at, sink);
                }
                long bytes = (long) RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(reader.lengthAndFlags());
                if (!isThere || reached == to || reached > from && bytes > left) {
                    break;
                }
                deliver(sink);
                left -= bytes;
                reached++;
            }
            next = reached;
        } catch (CorruptException e) {
            if (reached == from) {
                throw e;
            }
        } catch (IOException e) {
            throw new MmapQueueException("record " + reached + " could not be read: " + e, e);
        } catch (InternalError e) {
            throw TruncatedFiles.explain(e, reader.swapper().ring());
        } finally {
            reader.leave();
        }
        return reached;
    }

    private long deliverGap(long first, long end, StoredRecordSink sink) {
        long lost = Math.min(end - first, MOST_LOST);
        long header = checksum.gapHeader(first, lost, Long.BYTES);
        sink.take(new StoredRecord(
                first,
                first,
                0,
                RecordDescriptor.lengthAndFlags(header),
                RecordDescriptor.checksum(header),
                0,
                lost,
                payload,
                0,
                0));
        return first + lost;
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
        reader.advance();
    }

    /** Waits for the running call; later calls throw ClosedException. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        forget.accept(this);
    }
}
