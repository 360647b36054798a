package org.mmapqueue.spark.read.task;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.RecordSink;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** Reads a partition record by record, and waits for new records. Not thread-safe. */
final class RealTimeReader implements SupportsRealTimeRead<InternalRow> {
    /** Poll interval: a push wakes only threads of its own process. */
    private static final long LOOK_NANOS = 200_000;

    private final RangeReader reader;
    private final int partition;
    private final Next record;
    private long count;
    private long recordWaitNanos;

    /** The last record, as a row. */
    private static final class Next implements RecordSink {
        private final String[] columns;
        private final int partition;
        private final UTF8String queueId;
        private Object[] row;
        private long timestamp;
        private long bytes;

        Next(String[] columns, QueueInputPartition input) {
            this.columns = columns;
            this.partition = input.location().id();
            this.queueId = UTF8String.fromString(input.queueId().toString());
        }

        @Override
        public void take(long offset, long timestampMicros, byte[] data) {
            timestamp = timestampMicros;
            bytes += data.length;
            row = new Object[columns.length];
            for (int i = 0; i < columns.length; i++) {
                row[i] = switch (columns[i]) {
                    case RecordSchema.VALUE -> data;
                    case RecordSchema.PARTITION -> partition;
                    case RecordSchema.OFFSET -> offset;
                    case RecordSchema.TIMESTAMP -> timestampMicros == 0 ? null : timestampMicros;
                    case RecordSchema.QUEUE_ID -> queueId;
                    default -> throw new IllegalArgumentException("no column " + columns[i]);
                };
            }
        }
    }

    /**
     * Opens the partition.
     *
     * @param input the partition and its range, mostly without an end
     * @param columns the columns to read, in order
     * @param failOnDataLoss whether the loss of a requested record is an error
     * @param losses counts lost records
     * @throws IllegalStateException if the directory holds no queue, or another one
     */
    RealTimeReader(QueueInputPartition input, String[] columns, boolean failOnDataLoss, LossCount losses) {
        this.reader = new RangeReader(input, failOnDataLoss, losses);
        this.partition = input.location().id();
        this.record = new Next(columns, input);
    }

    @Override
    public PartitionOffset getOffset() {
        return new RealTimeOffset(partition, reader.next());
    }

    @Override
    public boolean next() {
        while (true) {
            try {
                // As in all tasks, no permit is held while waiting for records.
                if (reader.read(records -> records.read(1, Long.MAX_VALUE, record)) == 0) {
                    return false;
                }
                count++;
                return true;
            } catch (OutOfRangeException e) {
                if (e.first() <= reader.next()) {
                    throw e;
                }
                reader.lose(e.first(), "the log starts at offset " + e.first());
            }
        }
    }

    // Both overloads, without @Override: Spark 4.1 has only the first, later versions call the second.

    /**
     * Reads the next record; waits for it if necessary.
     *
     * @param timeoutMs the longest wait, in ms
     * @return whether there is a record, and its timestamp
     * @throws IOException if the task was interrupted
     */
    @SuppressWarnings("MissingOverride")
    public RecordStatus nextWithTimeout(Long timeoutMs) throws IOException {
        return nextWithTimeout(System.currentTimeMillis(), timeoutMs);
    }

    /**
     * Reads the next record; waits for it if necessary.
     *
     * @param startTimeMs begin of the wait, in ms since 1970
     * @param timeoutMs the longest wait from then on, in ms
     * @return whether there is a record, and its timestamp
     * @throws IOException if the task was interrupted
     */
    public RecordStatus nextWithTimeout(Long startTimeMs, Long timeoutMs) throws IOException {
        while (!next()) {
            if (System.currentTimeMillis() - startTimeMs >= timeoutMs) {
                return RecordStatus.newStatusWithoutArrivalTime(false);
            }
            long start = System.nanoTime();
            LockSupport.parkNanos(this, LOOK_NANOS);
            recordWaitNanos += System.nanoTime() - start;
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedIOException("interrupted while waiting for record " + reader.next());
            }
        }
        return record.timestamp == 0
                ? RecordStatus.newStatusWithoutArrivalTime(true)
                : RecordStatus.newStatusWithArrivalTimeMs(record.timestamp / 1000);
    }

    @Override
    public InternalRow get() {
        return new GenericInternalRow(record.row);
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return ScanMetrics.values(new ScanFigures(
                count,
                record.bytes,
                reader.dropped(),
                reader.damaged(),
                reader.segments(),
                reader.waitedMillis(),
                TimeUnit.NANOSECONDS.toMillis(recordWaitNanos),
                reader.lag()));
    }

    @Override
    public void close() {
        reader.close();
    }
}
