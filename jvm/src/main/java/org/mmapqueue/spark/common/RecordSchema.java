package org.mmapqueue.spark.common;

import java.util.Arrays;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The columns of records: value, partition, offset, timestamp; and the metadata column _queue_id. */
public final class RecordSchema {
    /** The record's bytes. */
    public static final String VALUE = "value";
    /** The partition's number. */
    public static final String PARTITION = "partition";
    /** The record's offset in the partition. */
    public static final String OFFSET = "offset";
    /** The time of the push; null in a queue that stores no timestamps. */
    public static final String TIMESTAMP = "timestamp";

    /** The number of deliveries, the present one included: only of records that a consumer of work has popped. */
    public static final String ATTEMPT = "attempt";

    /** The id of the partition's queue, a metadata column: only a query that names it reads it. */
    public static final String QUEUE_ID = "_queue_id";

    /** The schema of reads. */
    public static final StructType READ = new StructType()
            .add(VALUE, DataTypes.BinaryType, false)
            .add(PARTITION, DataTypes.IntegerType, false)
            .add(OFFSET, DataTypes.LongType, false)
            .add(TIMESTAMP, DataTypes.TimestampType, true);

    /** The schema of records that a consumer of work has popped. */
    public static final StructType DELIVERED = READ.add(ATTEMPT, DataTypes.IntegerType, false);

    private RecordSchema() {}

    /**
     * Adds the metadata column to the columns of a read.
     *
     * @param columns the columns of the read
     * @return the same columns, and after them the metadata column unless it is one of them
     */
    public static StructType withQueueId(StructType columns) {
        return columns.getFieldIndex(QUEUE_ID).isDefined()
                ? columns
                : columns.add(QUEUE_ID, DataTypes.StringType, false);
    }

    /**
     * Whether columns are a subset of those of reads.
     *
     * @param schema the columns
     * @return whether {@link #READ} has a column of the same name and type for each
     */
    public static boolean hasColumnsOf(StructType schema) {
        return Arrays.stream(schema.fields())
                .allMatch(field -> Arrays.stream(READ.fields())
                        .anyMatch(own -> own.name().equalsIgnoreCase(field.name())
                                && own.dataType().equals(field.dataType())));
    }
}
