package org.mmapqueue.spark.events;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Columns as "name type, name type" in Spark's types. The decoders do without Spark's schemas, which load much. */
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

    /** Any map of texts, with values that may be null. */
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
