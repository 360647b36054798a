package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** Makes readers for real-time mode. Immutable. */
public final class RealTimeReaderFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    private final StructType columns;
    private final boolean failOnDataLoss;
    private final LossCount losses;

    /**
     * Makes a factory.
     *
     * @param columns the columns to read, in order
     * @param failOnDataLoss whether the loss of a requested record is an error
     * @param losses counts lost records
     */
    public RealTimeReaderFactory(StructType columns, boolean failOnDataLoss, LossCount losses) {
        this.columns = columns;
        this.failOnDataLoss = failOnDataLoss;
        this.losses = losses;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        return new RealTimeReader((QueueInputPartition) partition, columns.fieldNames(), failOnDataLoss, losses);
    }
}
