package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads a range row by row, for plans that take no batches. A row is overwritten by the next. For one thread. */
final class RowReader implements PartitionReader<InternalRow> {
    private final BatchReader reader;
    private ColumnarBatch batch;
    private int row;

    /** A reader before its first row; closes the other one. */
    RowReader(BatchReader reader) {
        this.reader = reader;
    }

    @Override
    public boolean next() {
        row++;
        if (batch == null || row >= batch.numRows()) {
            if (!reader.next()) {
                return false;
            }
            batch = reader.get();
            row = 0;
        }
        return true;
    }

    @Override
    public InternalRow get() {
        return batch.getRow(row);
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return reader.currentMetricsValues();
    }

    @Override
    public void close() {
        reader.close();
    }
}
