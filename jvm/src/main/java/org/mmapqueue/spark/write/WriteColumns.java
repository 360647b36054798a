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
 * The positions of the columns in the rows of a write. Columns offset and timestamp are ignored, so that rows read from
 * a queue can be written to one.
 *
 * @param value index of the column value
 * @param isString whether value is a string, else binary
 * @param partition index of the column partition; -1 for none
 * @param key index of the key column; -1 for none
 * @param keyType type of the key column; null for none
 */
record WriteColumns(int value, boolean isString, int partition, int key, DataType keyType) implements Serializable {
    private static final String EXPECTED = "expected value (string or binary), optionally partition (int) or"
            + " the column that option key names; timestamp and offset are ignored";

    /**
     * Finds the columns.
     *
     * @param schema of the rows
     * @param key the name of the key column; null for none
     * @return the columns
     * @throws IllegalArgumentException if a column is missing, of another type, or unknown
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
            throw new IllegalArgumentException("the column partition and option key = " + key + " both select" + ""
                    + " the partition; leave one of them out");
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
            throw new IllegalArgumentException("columns that cannot be stored: " + String.join(", ", unknown) + "; "
                    + EXPECTED + "; combine columns into value, for example by to_json");
        }
    }

    // Names ignore case unless spark.sql.caseSensitive is set.
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
