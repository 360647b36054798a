package org.mmapqueue.spark.read;

import java.util.List;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.read.task.QueueReaderFactory;

/**
 * What the tasks of a batch read. Immutable; two are equal when they read the same, so that Spark reads it once.
 *
 * @param request what was asked for
 * @param inputs the parts
 */
record QueueBatch(ScanRequest request, List<QueueInputPartition> inputs) implements Batch {

    @Override
    public InputPartition[] planInputPartitions() {
        return inputs.toArray(InputPartition[]::new);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new QueueReaderFactory(request.columns(), request.options().failOnDataLoss(), request.conditions());
    }
}
