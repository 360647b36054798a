package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.mmapqueue.spark.events.otlp.OtlpPointRequest;

/**
 * {@code otlp_point(time_us, start_us, value, count, sum, monotonic, name, description, unit, kind, temporality, buckets,
 * attributes, resource, service, instance, scope)}: a data point as an export request of OTLP, the inverse of
 * {@code points}. Each argument but the times may be null. Equal arguments give equal bytes. Thread-safe.
 */
public final class OtlpPointFunction extends RowFunction<byte[]> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public OtlpPointFunction() {
        super(
                "otlp_point",
                DataTypes.BinaryType,
                DataTypes.LongType,
                DataTypes.LongType,
                DataTypes.DoubleType,
                DataTypes.LongType,
                DataTypes.DoubleType,
                DataTypes.BooleanType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType);
    }

    // Without a method invoke, whose arguments of a primitive type cannot be null.
    @Override
    public byte[] produceResult(InternalRow input) {
        OtlpPointRequest.Metric metric = new OtlpPointRequest.Metric(
                string(input, 6),
                string(input, 7),
                string(input, 8),
                string(input, 9),
                string(input, 10),
                !input.isNullAt(5) && input.getBoolean(5));
        OtlpPointRequest.Point point = new OtlpPointRequest.Point(
                input.getLong(0),
                input.getLong(1),
                input.isNullAt(2) ? null : input.getDouble(2),
                input.isNullAt(3) ? null : input.getLong(3),
                input.isNullAt(4) ? null : input.getDouble(4),
                string(input, 11),
                string(input, 12));
        return OtlpPointRequest.encode(
                metric, point, string(input, 13), string(input, 14), string(input, 15), string(input, 16));
    }
}
