package org.mmapqueue.spark.events.otlp;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;
import org.mmapqueue.spark.events.wire.WireWriter;

/**
 * Writes an Export request with one record: resource and scope, then what the caller writes into the record. The field
 * numbers around a record are those of logs and of traces. Not thread-safe.
 */
final class OtlpRecordWriter {
    static final int TRACE_ID_DIGITS = 32;
    static final int SPAN_ID_DIGITS = 16;
    private static final int NANOS = 1000;
    /** Messages around an attribute of a log record or span: request, resource, scope, record. */
    static final int OUTER = 4;

    final WireWriter out = new WireWriter(512);
    private final Set<String> keys = new HashSet<>();
    private final int resourceRecords;
    private final int scopeRecords;
    private final int record;
    private final int attributesField;
    private final int outer;

    /**
     * Writes what comes before the record; a null is a field that is absent.
     *
     * @param service the attribute service.name of a resource that has none
     * @param instance the attribute service.instance.id of a resource that has none
     * @param attributesField number of the field with the record's attributes
     * @param outer the number of messages around these attributes
     */
    OtlpRecordWriter(
            UTF8String resource,
            UTF8String service,
            UTF8String instance,
            UTF8String scope,
            int attributesField,
            int outer) {
        this.attributesField = attributesField;
        this.outer = outer;
        resourceRecords = out.begin(1);
        if (resource != null || service != null || instance != null) {
            int nested = out.begin(1);
            if (resource != null) {
                attributes(1, "resource", resource);
            }
            addition(1, "service.name", service);
            addition(1, "service.instance.id", instance);
            out.end(nested);
        }
        scopeRecords = out.begin(2);
        if (scope != null) {
            int nested = out.begin(1);
            text(1, scope);
            out.end(nested);
        }
        record = out.begin(2);
        keys.clear();
    }

    /** Ends the record; returns the request. */
    byte[] toBytes() {
        out.end(record);
        out.end(scopeRecords);
        out.end(resourceRecords);
        return out.toBytes();
    }

    /** µs since 1970, 0 for none. */
    void time(int field, long micros) {
        if (micros != 0) {
            out.fixed64(field, micros * NANOS);
        }
    }

    /** A text, unless it is null. */
    void text(int field, UTF8String text) {
        if (text != null) {
            byte[] bytes = text.getBytes();
            out.bytes(field, bytes, 0, bytes.length);
        }
    }

    private void text(int field, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.bytes(field, bytes, 0, bytes.length);
    }

    /**
     * An identity, unless it is null or empty. Another one than a hexadecimal of this length becomes a hash of its
     * text, and the attribute of this name: equal texts stay equal.
     */
    void identity(int field, String name, UTF8String text, int digits) {
        if (text != null && text.numBytes() > 0 && !bytesOf(field, text.getBytes(), digits)) {
            addition(attributesField, name, text);
        }
    }

    // Whether the text is hexadecimal, and not hashed.
    private boolean bytesOf(int field, byte[] text, int digits) {
        byte[] bytes = new byte[digits / 2];
        boolean valid = text.length == digits;
        for (int i = 0; valid && i < digits; i++) {
            int digit = Character.digit((char) text[i], 16);
            valid = digit >= 0;
            bytes[i / 2] = (byte) (bytes[i / 2] << 4 | digit);
        }
        out.bytes(field, valid ? bytes : sha256(text), 0, bytes.length);
        return valid;
    }

    private static byte[] sha256(byte[] text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** An attribute of the record, unless it has one of that name or the text is null. */
    void addition(String key, UTF8String text) {
        addition(attributesField, key, text);
    }

    private void addition(int field, String key, UTF8String text) {
        if (text != null && keys.add(key)) {
            attribute(field, key, text);
        }
    }

    private void attribute(int field, String key, UTF8String text) {
        int entry = out.begin(field);
        text(1, key);
        int value = out.begin(2);
        text(1, text);
        out.end(value);
        out.end(entry);
    }

    /** The members of a JSON object as attributes of the record; any other text as the attribute "attributes". */
    void attributes(UTF8String json) {
        if (json != null) {
            attributes(attributesField, "attributes", json);
        }
    }

    private void attributes(int field, String name, UTF8String json) {
        int start = out.size();
        try (JsonParser in = OtlpJson.PARSERS.createParser(json.getBytes())) {
            OtlpJson.expect(in, in.nextToken(), JsonToken.START_OBJECT, "a JSON object");
            members(in, field, outer);
            OtlpJson.expect(in, in.nextToken(), null, "the end");
        } catch (IOException | MalformedException e) {
            out.truncate(start);
            keys.clear();
            keys.add(name);
            attribute(field, name, json);
        }
    }

    /** The fields of the messages in {@link #messages}, by the names that JSON has for them. */
    record Fields(int message, int time, int name, int traceId, int spanId, int traceState, int attributes) {}

    /**
     * The objects of a JSON array as repeated messages, whose other members are attributes; any other text as the
     * attribute of that name.
     */
    void messages(Fields fields, String name, UTF8String json) {
        if (json == null) {
            return;
        }
        int start = out.size();
        try (JsonParser in = OtlpJson.PARSERS.createParser(json.getBytes())) {
            OtlpJson.expect(in, in.nextToken(), JsonToken.START_ARRAY, "a JSON array");
            while (in.nextToken() != JsonToken.END_ARRAY) {
                OtlpJson.expect(in, in.currentToken(), JsonToken.START_OBJECT, "a JSON object");
                int message = out.begin(fields.message());
                while (in.nextToken() == JsonToken.FIELD_NAME) {
                    member(in, fields);
                }
                out.end(message);
            }
            OtlpJson.expect(in, in.nextToken(), null, "the end");
        } catch (IOException | MalformedException | NumberFormatException e) {
            out.truncate(start);
            addition(name, json);
        }
    }

    private void member(JsonParser in, Fields fields) throws IOException, MalformedException {
        String key = in.currentName();
        JsonToken token = in.nextToken();
        boolean isText = token == JsonToken.VALUE_STRING;
        if (key.equals("attributes") && token == JsonToken.START_OBJECT) {
            members(in, fields.attributes(), outer + 1);
        } else if (key.equals("time_unix_nano") && fields.time() > 0 && token == JsonToken.VALUE_NUMBER_INT) {
            out.fixed64(fields.time(), Long.parseUnsignedLong(in.getText()));
        } else if (key.equals("name") && fields.name() > 0 && isText) {
            text(fields.name(), in.getText());
        } else if (key.equals("trace_id") && fields.traceId() > 0 && isText) {
            bytesOf(fields.traceId(), in.getText().getBytes(StandardCharsets.UTF_8), TRACE_ID_DIGITS);
        } else if (key.equals("span_id") && fields.spanId() > 0 && isText) {
            bytesOf(fields.spanId(), in.getText().getBytes(StandardCharsets.UTF_8), SPAN_ID_DIGITS);
        } else if (key.equals("trace_state") && fields.traceState() > 0 && isText) {
            text(fields.traceState(), in.getText());
        } else {
            entry(in, key, fields.attributes(), outer + 1);
        }
    }

    private void members(JsonParser in, int field, int depth) throws IOException, MalformedException {
        while (in.nextToken() == JsonToken.FIELD_NAME) {
            if (depth == outer) {
                keys.add(in.currentName());
            }
            String key = in.currentName();
            in.nextToken();
            entry(in, key, field, depth);
        }
    }

    // The current token as a KeyValue.
    private void entry(JsonParser in, String key, int field, int depth) throws IOException, MalformedException {
        int entry = out.begin(field);
        text(1, key);
        value(in, 2, depth + 2);
        out.end(entry);
    }

    // The current token as an AnyValue; null as an empty one.
    private void value(JsonParser in, int field, int depth) throws IOException, MalformedException {
        if (depth > WireReader.MOST_DEPTH) {
            throw new MalformedException("more than " + WireReader.MOST_DEPTH + " nested messages", 0);
        }
        int value = out.begin(field);
        switch (in.currentToken()) {
            case VALUE_STRING -> text(1, in.getText());
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
