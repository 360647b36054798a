package org.mmapqueue;

import java.util.List;
import org.mmapqueue.core.RangeOfLog;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Reads the records of a range in order, from a position of its own, and moves no consumer. A queue may have any number
 * of readers, and they do not wait for one another; each is for one thread at a time.
 *
 * <p>It retains no record: a record that no consumer needs may be overwritten before it is read, and the read then
 * throws {@link OutOfRangeException}. A call never returns other records than those of the range. Between calls no
 * segment is pinned.
 */
public final class RecordReader implements AutoCloseable {
    private final RangeOfLog reader;

    RecordReader(RangeOfLog reader) {
        this.reader = reader;
    }

    /** {@return the offset of the next record to read; the range's end after the last one} */
    public long offset() {
        return reader.offset();
    }

    /** {@return the number of segments read so far} */
    public long segments() {
        return reader.segments();
    }

    /** {@return the damaged ranges that were skipped, the latest thousand; empty unless this reader skips damage} */
    public List<DamagedRange> damagedRanges() {
        return reader.damagedRanges();
    }

    /** {@return the number of records that were skipped because of damage} */
    public long damagedRecords() {
        return reader.damagedRecords();
    }

    /**
     * Reads records, each into an array of its own.
     *
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of payload bytes, at least 1; a larger first record is read nevertheless
     * @param sink called with each record, in order
     * @return the number of records; 0 at the end of the range, or if the next one has not been pushed yet
     * @throws OutOfRangeException if the next record is not retained any more
     * @throws CorruptException if the next record is damaged
     * @throws ClosedException if this reader or the queue's handle is closed
     */
    public int read(int maxRecords, long maxBytes, RecordSink sink) {
        return reader.read(
                maxRecords,
                maxBytes,
                true,
                (number, timestamp, data, start, length, attempts) -> sink.take(number, timestamp, data));
    }

    /**
     * Reads records without an allocation for each; see {@link #read(int, long, RecordSink)}.
     *
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of payload bytes, at least 1; a larger first record is read nevertheless
     * @param handler called with each record, in order, with 0 attempts
     * @return the number of records; 0 at the end of the range, or if the next one has not been pushed yet
     */
    public int read(int maxRecords, long maxBytes, MessageHandler handler) {
        return reader.read(maxRecords, maxBytes, false, handler);
    }

    /** Waits for the running call; later calls throw ClosedException. Idempotent. */
    @Override
    public void close() {
        reader.close();
    }
}
