package org.mmapqueue.spark.events.otlp;

import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes an ExportLogsServiceRequest with one log record, the inverse of {@link OtlpLogs}. Requests can be merged by
 * concatenation.
 */
public final class OtlpLogRequest {
    private OtlpLogRequest() {}

    /**
     * The columns of a log record; a null is a field that is absent. Identities that are not hexadecimal of OTLP's
     * lengths are hashed, and become the attributes {@code trace_id} and {@code span_id}. Attributes that are not a JSON
     * object become one attribute with the whole text.
     *
     * @param timeMicros µs since 1970, 0 for none
     * @param observedMicros the same
     * @param number of the severity, 0 for none
     * @param service the attribute service.name of a resource that has none
     * @param instance the attribute service.instance.id of a resource that has none
     * @param more texts for attributes that the record does not have; null values are left out
     */
    public static byte[] encode(
            long timeMicros,
            long observedMicros,
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
        OtlpRecordWriter record = new OtlpRecordWriter(resource, service, instance, scope, 6, OtlpRecordWriter.OUTER);
        record.time(1, timeMicros);
        if (number != 0) {
            record.out.varint(2, number);
        }
        record.text(3, severity);
        if (body != null) {
            int value = record.out.begin(5);
            record.text(1, body);
            record.out.end(value);
        }
        record.attributes(attributes);
        if (more != null) {
            for (int i = 0; i < more.numElements(); i++) {
                UTF8String text =
                        more.valueArray().isNullAt(i) ? null : more.valueArray().getUTF8String(i);
                record.addition(more.keyArray().getUTF8String(i).toString(), text);
            }
        }
        record.identity(9, "trace_id", traceId, OtlpRecordWriter.TRACE_ID_DIGITS);
        record.identity(10, "span_id", spanId, OtlpRecordWriter.SPAN_ID_DIGITS);
        record.time(11, observedMicros);
        return record.toBytes();
    }
}
