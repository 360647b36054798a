package org.mmapqueue.spark.read.task;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.plan.DeliveredRecords;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.read.pushdown.RowConditions;
import org.mmapqueue.spark.source.SequentialReader;

/** Collects matching records into a columnar batch. Not thread-safe. */
public final class BatchRows {
    private static final int ROWS = 4096;
    private static final byte[] NO_BYTES = new byte[0];

    private final RowConditions conditions;
    private final DeliveredRecords delivered;
    private final int partition;
    private final int[] attempts;
    private final byte[][] values;
    private final long[] offsets;
    private final long[] timestamps;
    private final RecordColumn.Timestamps timestampColumn;
    private final ColumnarBatch batch;
    private long left;
    private int rows;
    private long records;
    private long bytes;

    /**
     * Makes an empty batch.
     *
     * @param columns the requested columns, in order
     * @param input the range of the records
     * @param delivered the records to collect, and their attempts; null for all
     */
    BatchRows(StructType columns, RowConditions conditions, QueueInputPartition input, DeliveredRecords delivered) {
        this.conditions = conditions;
        this.delivered = delivered;
        partition = input.location().id();
        attempts = delivered == null ? null : new int[ROWS];
        left = conditions.limit();
        values = has(columns, RecordSchema.VALUE) ? new byte[ROWS][] : null;
        offsets = new long[ROWS];
        timestamps = new long[ROWS];
        timestampColumn = new RecordColumn.Timestamps(timestamps);
        List<ColumnVector> vectors = new ArrayList<>();
        for (StructField field : columns.fields()) {
            vectors.add(
                    switch (field.name()) {
                        case RecordSchema.VALUE -> new RecordColumn.Values(values);
                        case RecordSchema.PARTITION -> new RecordColumn.Partition(partition);
                        case RecordSchema.ATTEMPT -> new RecordColumn.Attempts(attempts);
                        case RecordSchema.OFFSET -> new RecordColumn.Offsets(offsets);
                        case RecordSchema.TIMESTAMP -> timestampColumn;
                        case RecordSchema.QUEUE_ID -> new RecordColumn.QueueId(input.queueId());
                        default ->
                            throw new IllegalArgumentException("column " + field.name() + "; expected one of "
                                    + String.join(
                                            ", ",
                                            RecordSchema.withQueueId(RecordSchema.READ)
                                                    .fieldNames()));
                    });
        }
        batch = new ColumnarBatch(vectors.toArray(ColumnVector[]::new));
    }

    /** Whether these columns need records, and not only offsets. */
    public static boolean needRecords(StructType columns) {
        return has(columns, RecordSchema.VALUE) || has(columns, RecordSchema.TIMESTAMP);
    }

    private static boolean has(StructType columns, String name) {
        return List.of(columns.fieldNames()).contains(name);
    }

    /** Begins a new batch, which overwrites the last one. */
    void begin() {
        rows = 0;
    }

    /** The number of rows that fit into the batch. */
    int room() {
        return (int) Math.min(ROWS - rows, left);
    }

    /** Whether the task's limit is reached. */
    boolean isComplete() {
        return left == 0;
    }

    /** Adds rows that have only offsets, at most {@link #room}. */
    void offsets(long first, int count) {
        for (int i = 0; i < count; i++) {
            offsets[rows + i] = first + i;
        }
        rows += count;
        left -= count;
        records += count;
    }

    /**
     * Adds records of a reader, at most {@link #room}.
     *
     * @param maxBytes the limit of payload bytes
     * @return the number of records read
     */
    int take(SequentialReader reader, long maxBytes) {
        return values != null
                ? reader.read(room(), maxBytes, (offset, timestamp, data) -> take(offset, timestamp, data, data.length))
                : reader.read(
                        room(),
                        maxBytes,
                        (offset, timestamp, buffer, start, length, attempts) ->
                                take(offset, timestamp, NO_BYTES, length));
    }

    private void take(long offset, long timestampMicros, byte[] data, int length) {
        records++;
        bytes += length;
        if (!conditions.accept(timestampMicros)) {
            return;
        }
        if (delivered != null) {
            int times = delivered.attempts(partition, offset);
            if (times == 0) {
                return;
            }
            attempts[rows] = times;
        }
        if (values != null) {
            values[rows] = data;
        }
        offsets[rows] = offset;
        timestamps[rows] = timestampMicros;
        rows++;
        left--;
    }

    /** The number of rows in this batch. */
    int rows() {
        return rows;
    }

    /** The batch. The next batch overwrites it. */
    ColumnarBatch batch() {
        timestampColumn.rows(rows);
        batch.setNumRows(rows);
        return batch;
    }

    /** The number of records read. */
    long recordsRead() {
        return records;
    }

    /** The number of payload bytes read. */
    long bytesRead() {
        return bytes;
    }
}
