package org.mmapqueue.spark.read.task;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads a range row by row, for plans without columnar batches. The next row overwrites the last one. Not thread-safe.
 */
final class RowReader implements PartitionReader<InternalRow> {
    private final PartitionReader<ColumnarBatch> reader;
    private ColumnarBatch batch;
    private int row;

    /** Makes a reader, which closes the batch reader. */
    RowReader(PartitionReader<ColumnarBatch> reader) {
        this.reader = reader;
    }

    @Override
    public boolean next() throws IOException {
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
    public void close() throws IOException {
        reader.close();
    }
}
