package org.mmapqueue.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * The positions of the columns in the rows of a write in real-time mode. The column timestamp is ignored, so that rows
 * read from a queue can be written to one.
 *
 * @param value index of the column value
 * @param isString whether value is a string, else binary
 * @param partition index of the column partition
 * @param offset index of the column offset
 * @param ordinal index of the column ordinal; -1 for none
 * @param source index of the column source; -1 for none
 */
record RealTimeColumns(int value, boolean isString, int partition, int offset, int ordinal, int source)
        implements Serializable {
    private static final String ORDINAL = "ordinal";
    private static final String SOURCE = "source";
    private static final String EXPECTED = "expected value (string or binary), and the place of its record in the"
            + " source: partition (int), offset (bigint), optionally ordinal (int or bigint) and source (string)";

    /**
     * Finds the columns.
     *
     * @param schema of the rows
     * @return the columns
     * @throws IllegalArgumentException if a column is missing, of another type, or unknown
     */
    static RealTimeColumns of(StructType schema) {
        List<String> names = Arrays.stream(schema.fieldNames()).toList();
        for (StructField field : schema.fields()) {
            DataType type = field.dataType();
            boolean isFit = switch (field.name()) {
                case RecordSchema.VALUE -> type instanceof StringType || type instanceof BinaryType;
                case RecordSchema.PARTITION -> type instanceof IntegerType;
                case RecordSchema.OFFSET -> type instanceof LongType;
                case ORDINAL -> type instanceof IntegerType || type instanceof LongType;
                case SOURCE -> type instanceof StringType;
                case RecordSchema.TIMESTAMP -> true;
                default -> false;
            };
            if (!isFit || names.indexOf(field.name()) != names.lastIndexOf(field.name())) {
                throw new IllegalArgumentException("the column " + field.name() + " (" + type.catalogString()
                        + ") cannot be stored by the sink of real-time mode; " + EXPECTED
                        + "; combine columns into value, for example by to_json");
            }
        }
        for (String needed : List.of(RecordSchema.VALUE, RecordSchema.PARTITION, RecordSchema.OFFSET)) {
            if (!names.contains(needed)) {
                throw new IllegalArgumentException("the column " + needed + " is missing; found "
                        + schema.catalogString() + "; " + EXPECTED + ". Without its place a repeated row is not"
                        + " recognised");
            }
        }
        int value = names.indexOf(RecordSchema.VALUE);
        return new RealTimeColumns(
                value,
                schema.fields()[value].dataType() instanceof StringType,
                names.indexOf(RecordSchema.PARTITION),
                names.indexOf(RecordSchema.OFFSET),
                names.indexOf(ORDINAL),
                names.indexOf(SOURCE));
    }
}
