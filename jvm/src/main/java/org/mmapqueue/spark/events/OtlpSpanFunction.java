package org.mmapqueue.spark.events;

import java.util.Collections;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.otlp.OtlpSpanRequest;

/**
 * {@code otlp_span(start_us, end_us, duration_ns, name, kind, status, status_message, attributes, events, links,
 * resource, service, instance, scope, trace_id, span_id, parent_span_id)}: a span as an export request of OTLP, the
 * inverse of {@code spans}. Equal arguments give equal bytes. Thread-safe.
 */
public final class OtlpSpanFunction extends RowFunction<byte[]> {
    private static final long serialVersionUID = 1;

    private static final int TIMES = 3;
    private static final int TEXTS = 14;

    /** Called by the catalog. */
    public OtlpSpanFunction() {
        super(
                "otlp_span",
                DataTypes.BinaryType,
                Stream.concat(
                                Collections.nCopies(TIMES, DataTypes.LongType).stream(),
                                Collections.nCopies(TEXTS, DataTypes.StringType).stream())
                        .toArray(DataType[]::new));
    }

    /**
     * Encodes a span; Spark calls it. Texts may be null.
     *
     * @param start µs since 1970, 0 for none
     * @param end the same
     * @param duration ns from start to end
     * @param name a text
     * @param kind a name of OpenTelemetry's, or a number
     * @param status a name of OpenTelemetry's, or a number
     * @param message a text
     * @param attributes a JSON object
     * @param events a JSON array of objects with time_unix_nano, name and attributes
     * @param links a JSON array of objects with trace_id, span_id, trace_state and attributes
     * @param resource a JSON object
     * @param service the attribute {@code service.name} of a resource that has none
     * @param instance the attribute {@code service.instance.id} of a resource that has none
     * @param scope name of the scope
     * @param traceId 32 hexadecimal digits; any other text is hashed, and becomes the attribute {@code trace_id}
     * @param spanId 16 hexadecimal digits; any other text is hashed, and becomes the attribute {@code span_id}
     * @param parentSpanId the same, and the attribute {@code parent_span_id}
     * @return the serialized ExportTraceServiceRequest
     */
    public static byte[] invoke(
            long start,
            long end,
            long duration,
            UTF8String name,
            UTF8String kind,
            UTF8String status,
            UTF8String message,
            UTF8String attributes,
            UTF8String events,
            UTF8String links,
            UTF8String resource,
            UTF8String service,
            UTF8String instance,
            UTF8String scope,
            UTF8String traceId,
            UTF8String spanId,
            UTF8String parentSpanId) {
        return OtlpSpanRequest.encode(
                start,
                end,
                duration,
                name,
                kind,
                status,
                message,
                attributes,
                events,
                links,
                resource,
                service,
                instance,
                scope,
                traceId,
                spanId,
                parentSpanId);
    }

    @Override
    public byte[] produceResult(InternalRow input) {
        return invoke(
                input.getLong(0),
                input.getLong(1),
                input.getLong(2),
                string(input, 3),
                string(input, 4),
                string(input, 5),
                string(input, 6),
                string(input, 7),
                string(input, 8),
                string(input, 9),
                string(input, 10),
                string(input, 11),
                string(input, 12),
                string(input, 13),
                string(input, 14),
                string(input, 15),
                string(input, 16));
    }
}
