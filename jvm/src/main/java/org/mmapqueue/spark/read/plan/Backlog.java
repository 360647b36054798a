package org.mmapqueue.spark.read.plan;

import java.io.Serializable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.source.ReadablePartition;

/**
 * The lag of a query in one partition or more: what the log holds beyond an offset. Immutable.
 *
 * @param records number of records
 * @param bytes their bytes in the log, estimated
 * @param ageMicros the age of the oldest of them, in µs; 0 without one, or without timestamps
 */
public record Backlog(long records, long bytes, long ageMicros) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** No lag. */
    public static final Backlog NONE = new Backlog(0, 0, 0);

    /**
     * The lag in a partition.
     *
     * @param log the partition
     * @param offset the offset of the first record that the query has not read
     */
    public static Backlog behind(ReadablePartition log, long offset) {
        long end = log.endOffset();
        if (end <= offset) {
            return NONE;
        }
        try {
            ReadablePartition.Unread unread = log.unread(offset, end);
            long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
            long age = unread.firstMicros() == 0 ? 0 : Math.max(0, now - unread.firstMicros());
            return new Backlog(end - offset, unread.bytes(), age);
        } catch (OutOfRangeException e) {
            return new Backlog(end - offset, 0, 0); // the records are lost: the next batch reports or skips them
        }
    }

    /** The lag in both; the age is that of the oldest record. */
    public Backlog plus(Backlog other) {
        return new Backlog(records + other.records, bytes + other.bytes, Math.max(ageMicros, other.ageMicros));
    }
}
