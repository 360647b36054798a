package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of the catalog. Spark calls the static method {@code invoke}, from generated code and without conversions,
 * or {@code produceResult} of a function without it.
 */
abstract class RowFunction<R> implements ScalarFunction<R> {
    private static final long serialVersionUID = 1;

    private final String name;
    private final DataType[] inputs;
    private final DataType result;

    RowFunction(String name, DataType result, DataType... inputs) {
        this.name = name;
        this.inputs = inputs;
        this.result = result;
    }

    @Override
    public final DataType[] inputTypes() {
        return inputs.clone();
    }

    @Override
    public final DataType resultType() {
        return result;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final String canonicalName() {
        return "org.mmapqueue." + name;
    }

    static UTF8String string(InternalRow input, int column) {
        return input.isNullAt(column) ? null : input.getUTF8String(column);
    }
}
