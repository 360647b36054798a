package org.mmapqueue.spark.write;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * Where the rows that are written have what counts. What the queue itself says when it is read (offset, timestamp) may
 * be there and is left out, so that what was read can be written.
 *
 * @param value index of the column of the records
 * @param isString whether it is a string, else binary
 * @param partition index of the column that names the partition; -1 for none
 * @param key index of the column that decides on the partition; -1 for none
 * @param keyType its type; null for none
 */
record WriteColumns(int value, boolean isString, int partition, int key, DataType keyType) implements Serializable {
    private static final String EXPECTED = "expected value (string or binary), and if wanted partition (int) or the"
            + " column that option key names; timestamp and offset are left out";

    /**
     * Finds them.
     *
     * @param schema of the rows
     * @param key the name of the column that decides on the partition; null for none
     * @return where they are
     * @throws IllegalArgumentException when one is missing, of another type, or unknown
     */
    static WriteColumns of(StructType schema, String key) {
        int value = index(schema, RecordSchema.VALUE);
        if (value < 0) {
            throw new IllegalArgumentException(
                    "the column value is missing; found " + schema.catalogString() + "; " + EXPECTED);
        }
        StructField[] fields = schema.fields();
        boolean isString = fields[value].dataType() instanceof StringType;
        if (!isString && !(fields[value].dataType() instanceof BinaryType)) {
            throw bad(fields[value], "string or binary");
        }
        int keyIndex = key == null ? -1 : index(schema, key);
        if (key != null && keyIndex < 0) {
            throw new IllegalArgumentException(
                    "option key = " + key + "; allowed: a column of the rows: " + schema.catalogString());
        }
        int partition = index(schema, RecordSchema.PARTITION);
        if (partition >= 0 && partition != keyIndex && !(fields[partition].dataType() instanceof IntegerType)) {
            throw bad(fields[partition], "int");
        }
        if (partition >= 0 && key != null && partition != keyIndex) {
            throw new IllegalArgumentException("the column partition and option key = " + key + " both say where a row"
                    + " goes; leave one of them out");
        }
        checkOthers(fields, value, partition, keyIndex);
        DataType keyType = keyIndex < 0 ? null : fields[keyIndex].dataType();
        if (keyType != null && !PartitionChooser.canHash(keyType)) {
            throw bad(fields[keyIndex], PartitionChooser.KEY_TYPES + ", as it is the key");
        }
        return new WriteColumns(value, isString, partition == keyIndex ? -1 : partition, keyIndex, keyType);
    }

    private static void checkOthers(StructField[] fields, int value, int partition, int key) {
        List<String> unknown = new ArrayList<>();
        for (int i = 0; i < fields.length; i++) {
            String name = fields[i].name();
            boolean isOffset = name.equalsIgnoreCase(RecordSchema.OFFSET) && fields[i].dataType() instanceof LongType;
            boolean isTimestamp =
                    name.equalsIgnoreCase(RecordSchema.TIMESTAMP) && fields[i].dataType() instanceof TimestampType;
            if (i != value && i != partition && i != key && !isOffset && !isTimestamp) {
                unknown.add(name + " (" + fields[i].dataType().catalogString() + ")");
            }
        }
        if (!unknown.isEmpty()) {
            throw new IllegalArgumentException("columns that can not be stored: " + String.join(", ", unknown) + "; "
                    + EXPECTED + "; put what belongs together into value, such as by to_json");
        }
    }

    // Spark's names are without case unless told otherwise; then the exact one counts.
    private static int index(StructType schema, String name) {
        String[] names = schema.fieldNames();
        int found = -1;
        for (int i = 0; i < names.length; i++) {
            if (names[i].equals(name)) {
                return i;
            }
            if (names[i].equalsIgnoreCase(name)) {
                found = i;
            }
        }
        return found;
    }

    private static IllegalArgumentException bad(StructField field, String allowed) {
        return new IllegalArgumentException("the column " + field.name() + " is of type "
                + field.dataType().catalogString() + "; allowed: " + allowed);
    }
}
