package org.mmapqueue.spark.write;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.common.Options;

/** Chooses the partition of each row: by its column partition, by its key, or round-robin. Not thread-safe. */
final class PartitionChooser {
    /** Allowed types of keys. */
    static final String KEY_TYPES = "string, binary, boolean, tinyint, smallint, int, bigint, date or timestamp";

    // Seed of Spark's function hash: the partition is pmod(hash(key), partitions).
    private static final int SEED = 42;

    private final WriteColumns columns;
    private final int partitions;
    private final int task;
    private int next;

    /**
     * Makes a chooser for one task.
     *
     * @param partitions the number of partitions
     * @param task the task's number: round-robin starts with another partition in each task
     */
    PartitionChooser(WriteColumns columns, int partitions, int task) {
        this.columns = columns;
        this.partitions = partitions;
        this.task = task;
        this.next = task % partitions;
    }

    static boolean canHash(DataType type) {
        return type instanceof StringType
                || type instanceof BinaryType
                || isInt(type)
                || isLong(type)
                || type instanceof BooleanType
                || type instanceof ByteType
                || type instanceof ShortType;
    }

    private static boolean isInt(DataType type) {
        return type instanceof IntegerType || type instanceof DateType;
    }

    private static boolean isLong(DataType type) {
        return type instanceof LongType || type instanceof TimestampType;
    }

    /**
     * Chooses the partition of a row.
     *
     * @return the partition's number
     * @throws IllegalArgumentException if the row names a partition that does not exist
     */
    int choose(InternalRow row) {
        if (columns.key() >= 0) {
            return partitions == 1 ? 0 : Math.floorMod(hash(row), partitions);
        }
        if (columns.partition() >= 0 && !row.isNullAt(columns.partition())) {
            int partition = row.getInt(columns.partition());
            if (partition < 0 || partition >= partitions) {
                throw new IllegalArgumentException("the column partition is " + partition + " in a row of task " + task
                        + "; allowed: 0.." + (partitions - 1) + ", or null for round-robin; leave the column out,"
                        + " or add partitions with option " + Options.PARTITIONS);
            }
            return partition;
        }
        int chosen = next;
        next = chosen + 1 == partitions ? 0 : chosen + 1;
        return chosen;
    }

    private int hash(InternalRow row) {
        int key = columns.key();
        DataType type = columns.keyType();
        if (row.isNullAt(key)) {
            return SEED;
        }
        if (type instanceof StringType) {
            UTF8String text = row.getUTF8String(key);
            return Murmur3_x86_32.hashUnsafeBytes(text.getBaseObject(), text.getBaseOffset(), text.numBytes(), SEED);
        }
        if (type instanceof BinaryType) {
            byte[] bytes = row.getBinary(key);
            return Murmur3_x86_32.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, SEED);
        }
        if (isLong(type)) {
            return Murmur3_x86_32.hashLong(row.getLong(key), SEED);
        }
        return Murmur3_x86_32.hashInt(intOf(row, key, type), SEED);
    }

    private static int intOf(InternalRow row, int key, DataType type) {
        if (isInt(type)) {
            return row.getInt(key);
        }
        if (type instanceof BooleanType) {
            return row.getBoolean(key) ? 1 : 0;
        }
        return type instanceof ByteType ? row.getByte(key) : row.getShort(key);
    }
}
