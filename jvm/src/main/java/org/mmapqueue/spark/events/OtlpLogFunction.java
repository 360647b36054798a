package org.mmapqueue.spark.events;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.otlp.OtlpLogRequest;

/**
 * {@code otlp_log(time_us, observed_us, severity, severity_number, body, attributes, resource, service, instance, scope,
 * trace_id, span_id, more)}: a log record as an export request of OTLP, the inverse of {@code logs}. Equal arguments
 * give equal bytes. Thread-safe.
 */
public final class OtlpLogFunction extends RowFunction<byte[]> {
    private static final long serialVersionUID = 1;

    /** Called by the catalog. */
    public OtlpLogFunction() {
        super(
                "otlp_log",
                DataTypes.BinaryType,
                DataTypes.LongType,
                DataTypes.LongType,
                DataTypes.StringType,
                DataTypes.IntegerType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                DataTypes.StringType,
                Schemas.texts());
    }

    /**
     * Encodes a log record; Spark calls it. Texts and {@code more} may be null.
     *
     * @param time µs since 1970, 0 for none
     * @param observed the same
     * @param severity its name
     * @param number OpenTelemetry's number of the severity, 0 for none
     * @param body a text
     * @param attributes a JSON object
     * @param resource a JSON object
     * @param service the attribute {@code service.name} of a resource that has none
     * @param instance the attribute {@code service.instance.id} of a resource that has none
     * @param scope name of the scope
     * @param traceId 32 hexadecimal digits; any other text is hashed, and becomes the attribute {@code trace_id}
     * @param spanId 16 hexadecimal digits; any other text is hashed, and becomes the attribute {@code span_id}
     * @param more attributes to add, unless the record has them
     * @return the serialized ExportLogsServiceRequest
     */
    public static byte[] invoke(
            long time,
            long observed,
            UTF8String severity,
            int number,
            UTF8String body,
            UTF8String attributes,
            UTF8String resource,
            UTF8String service,
            UTF8String instance,
            UTF8String scope,
            UTF8String traceId,
            UTF8String spanId,
            MapData more) {
        return OtlpLogRequest.encode(
                time,
                observed,
                severity,
                number,
                body,
                attributes,
                resource,
                service,
                instance,
                scope,
                traceId,
                spanId,
                more);
    }

    @Override
    public byte[] produceResult(InternalRow input) {
        return invoke(
                input.getLong(0),
                input.getLong(1),
                string(input, 2),
                input.getInt(3),
                string(input, 4),
                string(input, 5),
                string(input, 6),
                string(input, 7),
                string(input, 8),
                string(input, 9),
                string(input, 10),
                string(input, 11),
                input.isNullAt(12) ? null : input.getMap(12));
    }
}
