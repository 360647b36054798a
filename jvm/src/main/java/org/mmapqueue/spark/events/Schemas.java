package org.mmapqueue.spark.events;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Converts columns such as "name type, name type" to Spark's types. The decoders do not use Spark's schemas, which load
 * many classes.
 */
final class Schemas {
    private Schemas() {}

    static ArrayType array(String columns) {
        return DataTypes.createArrayType(struct(columns), false);
    }

    static StructType struct(String columns) {
        StructType struct = new StructType();
        for (String column : columns.split(", ")) {
            String[] parts = column.split(" ");
            struct = struct.add(parts[0], type(parts[1]));
        }
        return struct;
    }

    /** A map of texts with nullable values. */
    static DataType texts() {
        return DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType, true);
    }

    private static DataType type(String name) {
        return switch (name) {
            case "timestamp" -> DataTypes.TimestampType;
            case "string" -> DataTypes.StringType;
            case "int" -> DataTypes.IntegerType;
            case "bigint" -> DataTypes.LongType;
            case "double" -> DataTypes.DoubleType;
            case "boolean" -> DataTypes.BooleanType;
            case "binary" -> DataTypes.BinaryType;
            case "map" -> DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType, false);
            default -> throw new IllegalArgumentException(name);
        };
    }
}
