package org.mmapqueue.spark.read.task;

import java.io.Closeable;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.read.plan.Backlog;
import org.mmapqueue.spark.read.plan.DataLoss;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.source.PartitionRecords;
import org.mmapqueue.spark.source.ReadablePartition;
import org.mmapqueue.spark.source.SequentialReader;

/**
 * Reads the records of an input partition in order, in batches and in real-time mode: opens the partition, acquires a
 * permit for each read, counts lost records. Between calls no segment is pinned. Not thread-safe.
 */
final class RangeReader implements Closeable {
    private final QueueInputPartition input;
    private final boolean failOnDataLoss;
    private final PartitionRecords partition;
    private final ReadPermits permits;
    private SequentialReader reader;
    private final @Nullable LossCount losses;
    private long next;
    private long dropped;
    /** Numbers of damaged records, of segments read, and waits, of closed readers. */
    private long damagedBefore;

    private long segmentsBefore;

    private long waitedNanos;
    private @Nullable Backlog lag;
    private boolean isClosed;

    /**
     * Opens the partition.
     *
     * @param failOnDataLoss whether a record that is no longer retained is an error
     * @param losses counts what is lost; null for no count
     * @throws IllegalStateException when the partition does not exist here
     */
    RangeReader(QueueInputPartition input, boolean failOnDataLoss, @Nullable LossCount losses) {
        this.input = input;
        this.failOnDataLoss = failOnDataLoss;
        this.losses = losses;
        this.next = input.from();
        this.partition = PartitionHandle.open(input);
        this.permits = ReadPermits.of(partition);
    }

    /**
     * Reads some records.
     *
     * @param read the function that reads from the reader, and returns the number of records read
     * @return the number that {@code read} has returned
     * @throws OutOfRangeException when the next record is not retained
     */
    int read(ToIntFunction<SequentialReader> read) {
        if (reader == null) {
            reader = partition.reader(next, input.to(), input.skipsDamage());
        }
        waitedNanos += permits.acquire();
        try {
            return read.applyAsInt(reader);
        } finally {
            permits.release();
            next = reader.offset();
        }
    }

    /**
     * Skips records that are lost.
     *
     * @param to the offset after the last lost record
     * @param why the reason of the loss
     * @throws IllegalStateException when a loss is an error
     */
    void lose(long to, String why) {
        closeReader();
        DataLoss.found(failOnDataLoss, input.location().id(), input.location().path(), next, to, why);
        dropped += to - next;
        next = to;
    }

    /** The offset of the next record. */
    long next() {
        return next;
    }

    /** The number of records that are not retained any more. */
    long dropped() {
        return dropped;
    }

    /** The number of records skipped because of damage. */
    long damaged() {
        return damagedBefore + (reader == null ? 0 : reader.damagedRecords());
    }

    /** The number of segments read. */
    long segments() {
        return segmentsBefore + (reader == null ? 0 : reader.segments());
    }

    /** The total wait for permits, in ms. */
    long waitedMillis() {
        return TimeUnit.NANOSECONDS.toMillis(waitedNanos);
    }

    /** What the log holds beyond the last record read; after the close as of the last call before. Null of an archive. */
    @Nullable
    Backlog lag() {
        if (!isClosed && partition instanceof ReadablePartition log) {
            lag = Backlog.behind(log, next);
        }
        return lag;
    }

    private void closeReader() {
        if (reader != null) {
            segmentsBefore += reader.segments();
            damagedBefore += reader.damagedRecords();
            reader.close();
            reader = null;
        }
    }

    // Figures remain, since Spark asks for the metrics again after the close.
    @Override
    public void close() {
        closeReader();
        if (losses != null && !isClosed) {
            losses.add(dropped, damagedBefore);
        }
        isClosed = true;
        permits.close();
        partition.close();
    }
}
