package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/**
 * Makes readers that wait for records. Immutable.
 */
public final class RealTimeReaderFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    private final StructType columns;
    private final boolean failOnDataLoss;

    /**
     * For partitions without an end.
     *
     * @param columns those of the schema that are read, in this order
     * @param failOnDataLoss whether records that are not there any more are an error
     */
    public RealTimeReaderFactory(StructType columns, boolean failOnDataLoss) {
        this.columns = columns;
        this.failOnDataLoss = failOnDataLoss;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        return new RealTimeReader((QueueInputPartition) partition, columns.fieldNames(), failOnDataLoss);
    }
}
