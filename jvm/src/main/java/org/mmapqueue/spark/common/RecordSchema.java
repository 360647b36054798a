package org.mmapqueue.spark.common;

import java.util.Arrays;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The rows that records are: value, partition, offset, timestamp. */
public final class RecordSchema {
    /** The record's bytes. */
    public static final String VALUE = "value";
    /** The number of its partition. */
    public static final String PARTITION = "partition";
    /** Its number in the partition. */
    public static final String OFFSET = "offset";
    /** When it was pushed; null in a queue that stores no timestamps. */
    public static final String TIMESTAMP = "timestamp";

    /** What is read. */
    public static final StructType READ = new StructType()
            .add(VALUE, DataTypes.BinaryType, false)
            .add(PARTITION, DataTypes.IntegerType, false)
            .add(OFFSET, DataTypes.LongType, false)
            .add(TIMESTAMP, DataTypes.TimestampType, true);

    private RecordSchema() {}

    /**
     * Whether columns are some of those that are read.
     *
     * @param schema the columns
     * @return whether the names and types of all of them are among {@link #READ}'s
     */
    public static boolean hasColumnsOf(StructType schema) {
        return Arrays.stream(schema.fields())
                .allMatch(field -> Arrays.stream(READ.fields())
                        .anyMatch(own -> own.name().equalsIgnoreCase(field.name())
                                && own.dataType().equals(field.dataType())));
    }
}
