package org.mmapqueue.spark.read.stream;

import java.util.Optional;
import java.util.UUID;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.source.ReadablePartition;

/**
 * A partition that a query reads, open on the driver, with the query's consumer, which retains all records from its
 * committed offset. Not thread-safe.
 */
interface StreamPartition extends AutoCloseable {

    /**
     * The consumer that retains the oldest records.
     *
     * @param name the consumer's name
     * @param lagBytes the consumer's lag, in bytes of the log
     */
    record Holder(String name, long lagBytes) {}

    /** The partition. */
    ReadablePartition records();

    /** The identity of the partition's queue. */
    default UUID queueId() {
        return records().queueId();
    }

    /** Whether the consumer did not exist before this start of the query. */
    boolean isNew();

    /** The upper limit of a batch, in bytes. */
    long mostHeld();

    /** The slowest consumer; empty where producers wait for none. */
    Optional<Holder> holder();

    /** Whether a partition that is new to the query may start after offset 0 without a loss. */
    boolean mayBeginLate();

    /** Why the log may end before the query's position, as a clause for messages: "so …". */
    String shortEnd();

    /** The offset at which a query continues if its position is beyond the log end, {@code end}. */
    long continuation(long position, long end);

    /**
     * Checks that a query can start at a position, where {@link #moveTo} acks the records before it. Moves nothing.
     *
     * @throws OutOfRangeException if the offset is outside of the log
     * @throws ConfigException if the partition stores no timestamps and a time is given
     */
    void check(StartAt start);

    /**
     * Seeks the consumer.
     *
     * @return the consumer's new committed offset
     * @throws OutOfRangeException if the offset is outside of the log
     * @throws ConfigException if the partition stores no timestamps and a time is given
     */
    long moveTo(StartAt start);

    /**
     * Retains records, as far as they are still in the log.
     *
     * @param from the first offset that will be read
     * @return {@code from}, or the log start if that is higher
     */
    long hold(long from);

    /** Whether {@link #release} would ack records. */
    boolean retains(long before);

    /** Acks all records before an offset. Never moves backwards. */
    void release(long before);

    /** Deletes the consumer, as the query cannot be restarted, and closes this. */
    void forget();

    /** Closes this after the queue was replaced; failures are logged. */
    void abandon();

    /** Closes the consumer at its committed offset. Idempotent. */
    @Override
    void close();
}
