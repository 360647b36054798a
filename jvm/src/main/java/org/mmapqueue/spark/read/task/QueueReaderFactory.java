package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.spark.read.plan.DeliveredRecords;
import org.mmapqueue.spark.read.plan.PackedInputPartition;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.read.pushdown.RowConditions;

/** Makes readers of {@link QueueInputPartition}s and {@link PackedInputPartition}s inside tasks. Immutable. */
public final class QueueReaderFactory implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    private final StructType columns;
    private final boolean failOnDataLoss;
    private final RowConditions conditions;
    /** The records to read; null for all of a range. */
    private final @Nullable DeliveredRecords delivered;

    private final @Nullable LossCount losses;

    /**
     * A factory of readers for a streaming query.
     *
     * @param columns the columns to read, in order
     * @param failOnDataLoss whether the loss of a requested record is an error
     * @param losses counts lost records
     */
    public QueueReaderFactory(StructType columns, boolean failOnDataLoss, LossCount losses) {
        this(columns, failOnDataLoss, RowConditions.NONE, null, losses);
    }

    /**
     * A factory of readers for a batch.
     *
     * @param columns the columns to read, in order
     * @param failOnDataLoss whether the loss of a requested record is an error
     * @param conditions what tasks check for each record
     */
    public QueueReaderFactory(StructType columns, boolean failOnDataLoss, RowConditions conditions) {
        this(columns, failOnDataLoss, conditions, null, null);
    }

    /**
     * A factory of readers of records that a consumer of work has popped. Other records of a range are left out.
     *
     * @param columns the columns to read, in order
     * @param delivered the records, and their attempts
     */
    public QueueReaderFactory(StructType columns, DeliveredRecords delivered) {
        this(columns, true, RowConditions.NONE, delivered, null);
    }

    private QueueReaderFactory(
            StructType columns,
            boolean failOnDataLoss,
            RowConditions conditions,
            @Nullable DeliveredRecords delivered,
            @Nullable LossCount losses) {
        this.columns = columns;
        this.failOnDataLoss = failOnDataLoss;
        this.conditions = conditions;
        this.delivered = delivered;
        this.losses = losses;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
        return new RowReader(columnar(partition));
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
        return columnar(partition);
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    private PartitionReader<ColumnarBatch> columnar(InputPartition partition) {
        return partition instanceof PackedInputPartition packed
                ? new PackedReader(packed, this::columnar)
                : columnar((QueueInputPartition) partition);
    }

    private BatchReader columnar(QueueInputPartition input) {
        boolean offsetsSuffice = !input.skipsDamage()
                && !input.mayHaveLost()
                && !BatchRows.needRecords(columns)
                && delivered == null
                && conditions.timestamps() == null;
        RecordSource source =
                !offsetsSuffice ? new StoredRecords(input, failOnDataLoss, losses) : new OffsetsOnly(input);
        return new BatchReader(source, new BatchRows(columns, conditions, input, delivered));
    }
}
