package org.mmapqueue.spark.read.task;

import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** Reads several ranges one after the other; one is open at a time. Not thread-safe. */
final class PackedReader implements PartitionReader<ColumnarBatch> {
    private final Iterator<QueueInputPartition> inputs;
    private final Function<QueueInputPartition, BatchReader> open;
    private BatchReader reader;
    /** The figures of closed readers. */
    private CustomTaskMetric[] before = ScanMetrics.values(0, 0, 0, 0, 0, 0);

    /**
     * Makes a reader.
     *
     * @param inputs the ranges, in order
     * @param open opens the reader of a range
     */
    PackedReader(List<QueueInputPartition> inputs, Function<QueueInputPartition, BatchReader> open) {
        this.inputs = inputs.iterator();
        this.open = open;
    }

    @Override
    public boolean next() {
        while (true) {
            if (reader == null) {
                if (!inputs.hasNext()) {
                    return false;
                }
                reader = open.apply(inputs.next());
            }
            if (reader.next()) {
                return true;
            }
            close();
        }
    }

    @Override
    public ColumnarBatch get() {
        return reader.get();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return reader == null ? before : ScanMetrics.sum(before, reader.currentMetricsValues());
    }

    // Figures remain, since Spark asks for the metrics again after the close.
    @Override
    public void close() {
        if (reader != null) {
            reader.close();
            before = ScanMetrics.sum(before, reader.currentMetricsValues());
            reader = null;
        }
    }
}
