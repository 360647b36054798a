package org.mmapqueue.spark.read.task;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.mmapqueue.RecordReader;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.pushdown.RowConditions;

/** The rows of a batch while they are read: takes records, drops those that do not count. For one thread. */
public final class BatchRows {
    private static final int ROWS = 4096;
    private static final byte[] NO_BYTES = new byte[0];

    private final RowConditions conditions;
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
     * Room for the rows of one batch at a time.
     *
     * @param columns those that are wanted, in this order
     * @param partition the number of the partition
     */
    BatchRows(StructType columns, RowConditions conditions, int partition) {
        this.conditions = conditions;
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
                        case RecordSchema.OFFSET -> new RecordColumn.Offsets(offsets);
                        case RecordSchema.TIMESTAMP -> timestampColumn;
                        default ->
                            throw new IllegalArgumentException("column " + field.name() + "; expected one of "
                                    + String.join(", ", RecordSchema.READ.fieldNames()));
                    });
        }
        batch = new ColumnarBatch(vectors.toArray(ColumnVector[]::new));
    }

    /** Whether records have to be read for these columns. */
    public static boolean needRecords(StructType columns) {
        return has(columns, RecordSchema.VALUE) || has(columns, RecordSchema.TIMESTAMP);
    }

    private static boolean has(StructType columns, String name) {
        return List.of(columns.fieldNames()).contains(name);
    }

    /** Begins another batch, which takes the place of the last one. */
    void begin() {
        rows = 0;
    }

    /** How many records may come. */
    int room() {
        return (int) Math.min(ROWS - rows, left);
    }

    /** Whether no row may come any more. */
    boolean isComplete() {
        return left == 0;
    }

    /** Takes records that are nothing but their numbers, at most {@link #room}. */
    void offsets(long first, int count) {
        for (int i = 0; i < count; i++) {
            offsets[rows + i] = first + i;
        }
        rows += count;
        left -= count;
        records += count;
    }

    /**
     * Takes records of a reader, at most {@link #room}.
     *
     * @param maxBytes the most bytes of payload
     * @return how many there were
     */
    int take(RecordReader reader, long maxBytes) {
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
        if (values != null) {
            values[rows] = data;
        }
        offsets[rows] = offset;
        timestamps[rows] = timestampMicros;
        rows++;
        left--;
    }

    /** How many rows there are in this batch. */
    int rows() {
        return rows;
    }

    /** The batch; overwritten by the next one. */
    ColumnarBatch batch() {
        timestampColumn.rows(rows);
        batch.setNumRows(rows);
        return batch;
    }

    /** Records that were read. */
    long recordsRead() {
        return records;
    }

    /** Bytes of payload that were read. */
    long bytesRead() {
        return bytes;
    }
}
