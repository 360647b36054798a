package org.mmapqueue;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.lookup.RangeReader;

/**
 * Reads the records of a range in order, from a position of its own, and moves no consumer. A queue may have any number
 * of readers, and they do not wait for one another; each is for one thread at a time.
 *
 * <p>It holds no record: a record that no consumer needs may be overwritten before it is read. The read throws {@link
 * OutOfRangeException} then; a call never returns other records than those of the range. Between calls no segment is
 * pinned.
 */
public final class RecordReader implements AutoCloseable {
    private final RangeReader reader;

    RecordReader(RangeReader reader) {
        this.reader = reader;
    }

    /**
     * The next record.
     *
     * @return the offset of the record that is read next; the range's end when all have been read
     */
    public long offset() {
        return reader.offset();
    }

    /**
     * How much of the ring it has gone through.
     *
     * @return in how many segments it has read so far
     */
    public long segments() {
        return reader.segments();
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
        return reader.read(
                maxRecords,
                maxBytes,
                true,
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
        return reader.read(maxRecords, maxBytes, false, handler);
    }

    /** Waits for the call that is under way; every later one raises ClosedException. A second close does nothing. */
    @Override
    public void close() {
        reader.close();
    }
}
