package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads a range as columnar batches. Not thread-safe. */
final class BatchReader implements PartitionReader<ColumnarBatch> {
    private final RecordSource source;
    private final BatchRows rows;
    private boolean more = true;

    /** Makes a reader, which closes the source. */
    BatchReader(RecordSource source, BatchRows rows) {
        this.source = source;
        this.rows = rows;
    }

    @Override
    public boolean next() {
        rows.begin();
        while (more && rows.rows() == 0 && !rows.isComplete()) {
            more = source.next(rows);
        }
        return rows.rows() > 0;
    }

    @Override
    public ColumnarBatch get() {
        return rows.batch();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return ScanMetrics.values(figures());
    }

    /** What has been read so far; remains after the close, since Spark asks again then. */
    ScanFigures figures() {
        return new ScanFigures(
                rows.recordsRead(),
                rows.bytesRead(),
                source.dropped(),
                source.damaged(),
                source.segments(),
                source.waitedMillis(),
                0,
                null);
    }

    @Override
    public void close() {
        source.close();
    }
}
