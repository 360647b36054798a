package org.mmapqueue.spark.events.otlp;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;
import org.mmapqueue.spark.events.wire.WireWriter;

/**
 * Writes an ExportLogsServiceRequest with one log record, the inverse of {@link OtlpLogs}. Requests can be merged by
 * concatenation. Not thread-safe.
 */
public final class OtlpLogRequest {
    private static final int NANOS = 1000;
    private static final int TRACE_ID_DIGITS = 32;
    private static final int SPAN_ID_DIGITS = 16;
    /** Messages around an attribute of a record: request, resource, scope, record. */
    private static final int OUTER = 4;

    private final WireWriter out = new WireWriter(512);
    private final Set<String> keys = new HashSet<>();

    private OtlpLogRequest() {}

    /**
     * The columns of a log record; a null is a field that is absent. Identities that are not hexadecimal of OTLP's
     * lengths become the attributes {@code trace_id} and {@code span_id}. Attributes that are not a JSON object become
     * one attribute with the whole text.
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
        OtlpLogRequest request = new OtlpLogRequest();
        WireWriter out = request.out;
        int resourceLogs = out.begin(1);
        if (resource != null || service != null || instance != null) {
            int nested = out.begin(1);
            if (resource != null) {
                request.attributes(1, "resource", resource);
            }
            request.addition(1, "service.name", service);
            request.addition(1, "service.instance.id", instance);
            out.end(nested);
        }
        int scopeLogs = out.begin(2);
        if (scope != null) {
            int nested = out.begin(1);
            text(out, 1, scope);
            out.end(nested);
        }
        int record = out.begin(2);
        time(out, 1, timeMicros);
        if (number != 0) {
            out.varint(2, number);
        }
        if (severity != null) {
            text(out, 3, severity);
        }
        if (body != null) {
            int value = out.begin(5);
            text(out, 1, body);
            out.end(value);
        }
        request.keys.clear();
        if (attributes != null) {
            request.attributes(6, "attributes", attributes);
        }
        if (more != null) {
            for (int i = 0; i < more.numElements(); i++) {
                UTF8String text =
                        more.valueArray().isNullAt(i) ? null : more.valueArray().getUTF8String(i);
                request.addition(6, more.keyArray().getUTF8String(i).toString(), text);
            }
        }
        request.identity(9, "trace_id", traceId, TRACE_ID_DIGITS);
        request.identity(10, "span_id", spanId, SPAN_ID_DIGITS);
        time(out, 11, observedMicros);
        out.end(record);
        out.end(scopeLogs);
        out.end(resourceLogs);
        return out.toBytes();
    }

    private static void time(WireWriter out, int field, long micros) {
        if (micros != 0) {
            out.fixed64(field, micros * NANOS);
        }
    }

    private static void text(WireWriter out, int field, UTF8String text) {
        byte[] bytes = text.getBytes();
        out.bytes(field, bytes, 0, bytes.length);
    }

    private static void text(WireWriter out, int field, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.bytes(field, bytes, 0, bytes.length);
    }

    private void identity(int field, String name, UTF8String text, int digits) {
        if (text == null || text.numBytes() == 0) {
            return;
        }
        byte[] hex = text.getBytes();
        byte[] bytes = new byte[digits / 2];
        boolean valid = hex.length == digits;
        for (int i = 0; valid && i < digits; i++) {
            int digit = Character.digit((char) hex[i], 16);
            valid = digit >= 0;
            bytes[i / 2] = (byte) (bytes[i / 2] << 4 | digit);
        }
        if (valid) {
            out.bytes(field, bytes, 0, bytes.length);
        } else {
            addition(6, name, text);
        }
    }

    // Adds an attribute, unless there is one of that name or the text is null.
    private void addition(int field, String key, UTF8String text) {
        if (text != null && keys.add(key)) {
            int entry = out.begin(field);
            text(out, 1, key);
            int value = out.begin(2);
            text(out, 1, text);
            out.end(value);
            out.end(entry);
        }
    }

    // The members of a JSON object as repeated KeyValue; any other text as one KeyValue of that name.
    private void attributes(int field, String name, UTF8String json) {
        int start = out.size();
        try (JsonParser in = OtlpJson.PARSERS.createParser(json.getBytes())) {
            OtlpJson.expect(in, in.nextToken(), JsonToken.START_OBJECT, "a JSON object");
            members(in, field, OUTER);
            OtlpJson.expect(in, in.nextToken(), null, "the end");
        } catch (IOException | MalformedException e) {
            out.truncate(start);
            keys.clear();
            keys.add(name);
            int entry = out.begin(field);
            text(out, 1, name);
            int value = out.begin(2);
            text(out, 1, json);
            out.end(value);
            out.end(entry);
        }
    }

    private void members(JsonParser in, int field, int depth) throws IOException, MalformedException {
        while (in.nextToken() == JsonToken.FIELD_NAME) {
            if (depth == OUTER) {
                keys.add(in.currentName());
            }
            int entry = out.begin(field);
            text(out, 1, in.currentName());
            in.nextToken();
            value(in, 2, depth + 2);
            out.end(entry);
        }
    }

    // The current token as an AnyValue; null as an empty one.
    private void value(JsonParser in, int field, int depth) throws IOException, MalformedException {
        if (depth > WireReader.MOST_DEPTH) {
            throw new MalformedException("more than " + WireReader.MOST_DEPTH + " nested messages", 0);
        }
        int value = out.begin(field);
        switch (in.currentToken()) {
            case VALUE_STRING -> text(out, 1, in.getText());
            case VALUE_TRUE -> out.varint(2, 1);
            case VALUE_FALSE -> out.varint(2, 0);
            case VALUE_NUMBER_INT -> whole(in.getText());
            case VALUE_NUMBER_FLOAT -> number(in.getText());
            case START_ARRAY -> {
                int list = out.begin(5);
                while (in.nextToken() != JsonToken.END_ARRAY) {
                    value(in, 1, depth + 2);
                }
                out.end(list);
            }
            case START_OBJECT -> {
                int object = out.begin(6);
                members(in, 1, depth + 1);
                out.end(object);
            }
            default -> {}
        }
        out.end(value);
    }

    // A number of more than 64 bits as a double.
    private void whole(String text) {
        try {
            out.varint(3, Long.parseLong(text));
        } catch (NumberFormatException e) {
            number(text);
        }
    }

    private void number(String text) {
        out.fixed64(4, Double.doubleToRawLongBits(Double.parseDouble(text)));
    }
}
