package org.mmapqueue.spark.source;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;

/** An open partition, as scans plan with it and read it. Moves no consumer. Thread-safe. */
public interface ReadablePartition extends AutoCloseable {

    /**
     * The partition's number.
     *
     * @return at least 0
     */
    int id();

    /**
     * Where it is.
     *
     * @return the location
     */
    PartitionLocation location();

    /**
     * Where a task finds a range.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return the location
     */
    default PartitionLocation location(long from, long to) {
        return location();
    }

    /**
     * The identity of the partition's queue.
     *
     * @return the queue's id
     */
    UUID queueId();

    /**
     * The log start.
     *
     * @return the first offset that is retained
     */
    long firstOffset();

    /**
     * The log end.
     *
     * @return the offset of the next record
     */
    long endOffset();

    /**
     * The size of a range in the log.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return bytes, interpolated within a segment or run
     */
    long bytes(long from, long to);

    /**
     * Splits a range into parts of about equal size.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @param bytes the size of a part
     * @return the bounds of the parts, ascending, from and to included
     */
    long[] split(long from, long to, long bytes);

    /**
     * The first record of a time or later.
     *
     * @param time the time of the push
     * @return its offset; empty if no record is as recent
     * @throws org.mmapqueue.errors.ConfigException if the partition stores no timestamps
     */
    OptionalLong find(Instant time);

    /**
     * The least timestamp in a range, as far as its first record tells it.
     *
     * @param from the first offset
     * @param to the offset after the last one, greater than {@code from}
     * @return µs since 1970; 0 if unknown
     */
    long minTimestampMicros(long from, long to);

    /**
     * The greatest timestamp in a range, as far as its last record tells it.
     *
     * @param from the first offset
     * @param to the offset after the last one, greater than {@code from}
     * @return µs since 1970; 0 if unknown
     */
    long maxTimestampMicros(long from, long to);

    /**
     * The committed offsets of consumers.
     *
     * @return offsets by consumer
     */
    Map<String, Long> committedOffsets();

    /**
     * The hosts that read a range best, by their names in Spark's scheduler.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @return the hosts, best first; empty if all are equal
     */
    List<String> hosts(long from, long to);

    /**
     * The limit of threads of this process that read at once.
     *
     * @return at least 1
     */
    int maxReaders();

    /**
     * Begins to read a range.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @param skipsDamage whether damaged records are skipped; else they are an error
     * @return the reader, which the caller closes
     */
    SequentialReader reader(long from, long to, boolean skipsDamage);

    @Override
    void close();
}
