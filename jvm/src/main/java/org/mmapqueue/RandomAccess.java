package org.mmapqueue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.mmapqueue.core.QueueCore;

/**
 * The methods of {@link MmapQueue} that read by offset and time, and those about shipping. They move no consumer. Safe
 * for any number of threads.
 */
abstract class RandomAccess extends QueueProducer {

    /** Returns the queue; throws if this handle is closed. */
    abstract QueueCore core();

    /**
     * Reads a record. Moves no consumer.
     *
     * @param offset the record's offset
     * @return the record; its attempts are 0
     */
    public Message get(long offset) {
        return core().log().randomAccess().get(offset, 1, Long.MAX_VALUE).get(0);
    }

    /**
     * Reads records. Moves no consumer.
     *
     * @param offset the first record's offset
     * @param count the most records
     * @return the records from the offset on, in order, at least one; their attempts are 0
     */
    public List<Message> getMany(long offset, int count) {
        return core().log().randomAccess().get(offset, count, Long.MAX_VALUE);
    }

    /**
     * Reads records without an allocation for each. Moves no consumer.
     *
     * @param offset the first record's offset
     * @param count the most records
     * @param maxBytes the most payload bytes; a larger first record is read nevertheless
     * @param handler called with each record, in order, with 0 attempts
     * @return the number of records, at least 1
     */
    public int getMany(long offset, int count, long maxBytes, MessageHandler handler) {
        return core().log().randomAccess().get(offset, count, maxBytes, handler);
    }

    /**
     * Returns a reader of a range of offsets. Any number of readers may read at once.
     *
     * @param from the first record's offset, up to {@link #endOffset}
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @return the reader, which the caller closes; usable while this handle is open
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no offsets
     */
    public RecordReader reader(long from, long to) {
        return reader(from, to, false);
    }

    /**
     * Returns a reader of a range of offsets, as {@link #reader(long, long)}.
     *
     * @param from the first record's offset, up to {@link #endOffset}
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @param skipsDamage whether to continue after damaged records, which {@link RecordReader#damagedRanges} lists,
     *     instead of throwing CorruptException
     * @return the reader, which the caller closes; usable while this handle is open
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no offsets
     */
    public RecordReader reader(long from, long to, boolean skipsDamage) {
        return new RecordReader(core().log().reader(from, to, skipsDamage, this::isClosed));
    }

    /**
     * Splits a range of offsets into parts of about the same size, for a {@link #reader} each. Reads segment headers
     * only. Parts that are larger than a segment begin at the start of one.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @param bytes the size of a part in bytes of the log, at least 1
     * @return the offsets of the parts' first records, ascending, then {@code to}
     */
    public long[] split(long from, long to, long bytes) {
        if (bytes < 1 || to < from) {
            throw new IllegalArgumentException(
                    "from = " + from + ", to = " + to + ", bytes = " + bytes + "; expected from <= to and bytes >= 1");
        }
        return core().log().randomAccess().split(from, to, bytes);
    }

    /**
     * Estimates the size of a range in the log, headers and padding included. Reads segment headers only; within a
     * segment all records are assumed to have the same size.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the size in bytes
     */
    public long bytes(long from, long to) {
        return core().log().randomAccess().bytes(from, to);
    }

    /**
     * Finds a record by its timestamp.
     *
     * @param time a time; records have timestamps in whole µs
     * @return the offset of the first record pushed at that time or later; empty if no such record exists
     * @throws org.mmapqueue.errors.ConfigException if the queue stores no timestamps
     */
    public OptionalLong find(Instant time) {
        return core().log().randomAccess().find(StartAt.timestamp(time).value());
    }

    /** {@return the offset of the oldest retained record; {@link #endOffset} if no record is retained} */
    public long firstOffset() {
        return core().log().randomAccess().firstOffset();
    }

    /** {@return the offset of the next record} */
    public long endOffset() {
        return core().endOffset();
    }

    /**
     * Returns the offset up to which records are durable. Works in a process that only reads, too.
     *
     * @return the offset after the last record before the recovery point; at least {@link #firstOffset}
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no offsets
     */
    public long durableOffset() {
        return core().log().durableOffset();
    }

    /**
     * Waits until the archive has a record and all records before it, whichever process ships the queue. In the writing
     * process it first makes them durable.
     *
     * @param offset the record's offset
     * @param timeout the longest wait
     * @return whether the archive has them
     * @throws org.mmapqueue.errors.ConfigException if no consumer {@code ship} exists, as no process has shipped the
     *     queue; and in format version 1, which cannot be shipped
     * @throws org.mmapqueue.errors.OutOfRangeException if the record has not been pushed
     * @throws org.mmapqueue.errors.DroppedException if a purge, max_age or max_consumer_lag has dropped the record before it
     *     was shipped; the archive may still get it while its segment is not reused
     * @throws org.mmapqueue.errors.MmapQueueException if this process shipped the queue, and shipping has failed
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public boolean awaitShipped(long offset, Duration timeout) throws InterruptedException {
        return core().shipping().await(offset, MmapQueue.nanos(timeout));
    }

    /**
     * Returns what this process has shipped into the archive since the queue was opened.
     *
     * @return the figures; empty if the queue was opened without archive_uri
     */
    public Optional<ShipStats> shipStats() {
        return core().shipping().stats();
    }
}
