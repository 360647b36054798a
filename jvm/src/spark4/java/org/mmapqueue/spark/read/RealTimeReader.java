package org.mmapqueue.spark.read;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.locks.LockSupport;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.queue.MmapQueue;
import org.mmapqueue.queue.RecordReader;
import org.mmapqueue.queue.RecordSink;
import org.mmapqueue.spark.common.RecordSchema;

/** Reads a partition record by record, and waits for those that are not there yet. For one thread. */
final class RealTimeReader implements SupportsRealTimeRead<InternalRow> {
    /** How often it looks: what a push wakes are the threads of its own process alone. */
    private static final long LOOK_NANOS = 200_000;

    private final QueueInputPartition input;
    private final boolean failOnDataLoss;
    private final MmapQueue queue;
    private final Next record;
    private RecordReader reader;
    private long next;
    private long count;
    private long lost;

    /** The record that was read last, as a row. */
    private static final class Next implements RecordSink {
        private final String[] columns;
        private final int partition;
        private Object[] row;
        private long timestamp;
        private long bytes;

        Next(String[] columns, int partition) {
            this.columns = columns;
            this.partition = partition;
        }

        @Override
        public byte[] room(int length) {
            return new byte[length];
        }

        @Override
        public void take(long offset, long timestampMicros, byte[] data, int length) {
            timestamp = timestampMicros;
            bytes += length;
            row = new Object[columns.length];
            for (int i = 0; i < columns.length; i++) {
                row[i] = switch (columns[i]) {
                    case RecordSchema.VALUE -> data;
                    case RecordSchema.PARTITION -> partition;
                    case RecordSchema.OFFSET -> offset;
                    case RecordSchema.TIMESTAMP -> timestampMicros == 0 ? null : timestampMicros;
                    default -> throw new IllegalArgumentException("no column " + columns[i]);
                };
            }
        }
    }

    /**
     * Opens the partition.
     *
     * @param input where it begins; it has no end
     * @param columns those of the schema that are read, in this order
     * @param failOnDataLoss whether records that are not there any more are an error
     * @throws IllegalStateException when it is not there
     */
    RealTimeReader(QueueInputPartition input, String[] columns, boolean failOnDataLoss) {
        this.input = input;
        this.failOnDataLoss = failOnDataLoss;
        this.record = new Next(columns, input.directory().id());
        this.next = input.from();
        this.queue = PartitionHandle.open(input);
    }

    @Override
    public PartitionOffset getOffset() {
        return new RealTimeOffset(input.directory().id(), next);
    }

    @Override
    public boolean next() {
        while (true) {
            try {
                if (reader == null) {
                    reader = queue.reader(next, input.to());
                }
                if (reader.read(1, Long.MAX_VALUE, record) == 0) {
                    return false;
                }
                next = reader.offset();
                count++;
                return true;
            } catch (OutOfRangeException e) {
                if (e.first() <= next) {
                    throw e;
                }
                DataLoss.found(failOnDataLoss, input.directory(), next, e.first(), "the first one that is retained is "
                        + e.first());
                lost += e.first() - next;
                next = e.first();
                closeReader();
            }
        }
    }

    // Both forms, without @Override: 4.1 has the first alone, later versions call the second.

    /**
     * Reads the next record, waiting for it.
     *
     * @param timeoutMs the longest to wait, in ms
     * @return whether there is one, and when it was pushed
     * @throws IOException when the task is to end
     */
    public RecordStatus nextWithTimeout(Long timeoutMs) throws IOException {
        return nextWithTimeout(System.currentTimeMillis(), timeoutMs);
    }

    /**
     * Reads the next record, waiting for it.
     *
     * @param startTimeMs since when it waits, in ms since 1970
     * @param timeoutMs the longest to wait from then on, in ms
     * @return whether there is one, and when it was pushed
     * @throws IOException when the task is to end
     */
    public RecordStatus nextWithTimeout(Long startTimeMs, Long timeoutMs) throws IOException {
        while (!next()) {
            if (System.currentTimeMillis() - startTimeMs >= timeoutMs) {
                return RecordStatus.newStatusWithoutArrivalTime(false);
            }
            LockSupport.parkNanos(this, LOOK_NANOS);
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedIOException("interrupted while waiting for record " + next);
            }
        }
        return record.timestamp == 0 ? RecordStatus.newStatusWithoutArrivalTime(true)
                : RecordStatus.newStatusWithArrivalTimeMs(record.timestamp / 1000);
    }

    @Override
    public InternalRow get() {
        return new GenericInternalRow(record.row);
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return ScanMetrics.values(count, record.bytes, lost);
    }

    private void closeReader() {
        if (reader != null) {
            reader.close();
            reader = null;
        }
    }

    @Override
    public void close() {
        closeReader();
        queue.close();
    }
}
