package org.mmapqueue.spark.read;

import java.util.List;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.read.task.QueueReaderFactory;

/**
 * The input partitions of a batch. Immutable. Batches that read the same are equal, so that Spark can reuse one
 * exchange.
 *
 * @param request the request
 * @param inputs the input partitions
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
