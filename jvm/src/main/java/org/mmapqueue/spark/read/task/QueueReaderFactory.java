package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
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
    private final DeliveredRecords delivered;

    /**
     * A factory of readers without conditions.
     *
     * @param columns the columns to read, in order
     * @param failOnDataLoss whether the loss of a requested record is an error
     */
    public QueueReaderFactory(StructType columns, boolean failOnDataLoss) {
        this(columns, failOnDataLoss, RowConditions.NONE);
    }

    public QueueReaderFactory(StructType columns, boolean failOnDataLoss, RowConditions conditions) {
        this(columns, failOnDataLoss, conditions, null);
    }

    /**
     * A factory of readers of records that a consumer of work has popped. Other records of a range are left out.
     *
     * @param columns the columns to read, in order
     * @param delivered the records, and their attempts
     */
    public QueueReaderFactory(StructType columns, DeliveredRecords delivered) {
        this(columns, true, RowConditions.NONE, delivered);
    }

    private QueueReaderFactory(
            StructType columns, boolean failOnDataLoss, RowConditions conditions, DeliveredRecords delivered) {
        this.columns = columns;
        this.failOnDataLoss = failOnDataLoss;
        this.conditions = conditions;
        this.delivered = delivered;
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
                ? new PackedReader(packed.inputs(), this::columnar)
                : columnar((QueueInputPartition) partition);
    }

    private BatchReader columnar(QueueInputPartition input) {
        boolean offsetsSuffice = !input.skipsDamage()
                && !input.mayHaveLost()
                && !BatchRows.needRecords(columns)
                && delivered == null
                && conditions.timestamps() == null;
        RecordSource source = !offsetsSuffice ? new StoredRecords(input, failOnDataLoss) : new OffsetsOnly(input);
        return new BatchReader(source, new BatchRows(columns, conditions, input, delivered));
    }
}
