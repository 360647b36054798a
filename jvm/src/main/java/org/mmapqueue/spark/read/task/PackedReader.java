package org.mmapqueue.spark.read.task;

import java.util.Iterator;
import java.util.function.Function;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.mmapqueue.spark.read.plan.PackedInputPartition;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** Reads several ranges one after the other; one is open at a time. Not thread-safe. */
final class PackedReader implements PartitionReader<ColumnarBatch> {
    private final Iterator<QueueInputPartition> inputs;
    private final Function<QueueInputPartition, BatchReader> open;
    private BatchReader reader;
    /** The figures of closed readers. */
    private ScanFigures before;

    /**
     * Makes a reader.
     *
     * @param input the ranges, in order
     * @param open opens the reader of a range
     */
    PackedReader(PackedInputPartition input, Function<QueueInputPartition, BatchReader> open) {
        this.inputs = input.inputs().iterator();
        this.before = ScanFigures.none(input.lag());
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
        return ScanMetrics.values(reader == null ? before : before.plus(reader.figures()));
    }

    // Figures remain, since Spark asks for the metrics again after the close.
    @Override
    public void close() {
        if (reader != null) {
            reader.close();
            before = before.plus(reader.figures());
            reader = null;
        }
    }
}
