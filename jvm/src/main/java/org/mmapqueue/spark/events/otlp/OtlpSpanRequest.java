package org.mmapqueue.spark.events.otlp;

import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.SpanRow;

/**
 * Writes an ExportTraceServiceRequest with one span, the inverse of {@link OtlpSpans}. Requests can be merged by
 * concatenation.
 */
public final class OtlpSpanRequest {
    private static final OtlpRecordWriter.Fields EVENTS = new OtlpRecordWriter.Fields(11, 1, 2, 0, 0, 0, 3);
    private static final OtlpRecordWriter.Fields LINKS = new OtlpRecordWriter.Fields(13, 0, 0, 1, 2, 3, 4);

    private OtlpSpanRequest() {}

    /**
     * The columns of a span; a null is a field that is absent. Identities that are not hexadecimal of OTLP's lengths are
     * hashed, and become attributes. JSON of another form than that of {@link OtlpSpans} becomes an attribute.
     *
     * @param startMicros µs since 1970, 0 for none
     * @param endMicros the same
     * @param nanos the duration; the end of a span with start and end is as long after its start
     * @param kind a name of OpenTelemetry's, or a number
     * @param status the same
     * @param service the attribute service.name of a resource that has none
     * @param instance the attribute service.instance.id of a resource that has none
     */
    public static byte[] encode(
            long startMicros,
            long endMicros,
            long nanos,
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
        OtlpRecordWriter record = new OtlpRecordWriter(resource, service, instance, scope, 9, OtlpRecordWriter.OUTER);
        record.text(5, name);
        int kindNumber = SpanRow.kindNumber(kind);
        if (kindNumber != 0) {
            record.out.varint(6, kindNumber);
        }
        record.time(7, startMicros);
        if (startMicros == 0 || endMicros == 0) {
            record.time(8, endMicros);
        } else {
            record.out.fixed64(8, startMicros * 1000 + nanos);
        }
        record.attributes(attributes);
        record.identity(1, "trace_id", traceId, OtlpRecordWriter.TRACE_ID_DIGITS);
        record.identity(2, "span_id", spanId, OtlpRecordWriter.SPAN_ID_DIGITS);
        record.identity(4, "parent_span_id", parentSpanId, OtlpRecordWriter.SPAN_ID_DIGITS);
        record.messages(EVENTS, "events", events);
        record.messages(LINKS, "links", links);
        int statusNumber = SpanRow.statusNumber(status);
        if (statusNumber != 0 || message != null) {
            int nested = record.out.begin(15);
            record.text(2, message);
            if (statusNumber != 0) {
                record.out.varint(3, statusNumber);
            }
            record.out.end(nested);
        }
        return record.toBytes();
    }
}
