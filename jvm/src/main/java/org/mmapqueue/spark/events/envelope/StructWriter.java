package org.mmapqueue.spark.events.envelope;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.mmapqueue.spark.events.otlp.OtlpJson;
import org.mmapqueue.spark.events.wire.WireWriter;

/** A JSON object as google.protobuf.Struct, the inverse of {@link StructJson}. */
public final class StructWriter {
    // Fields of Value.
    private static final int NULL = 1;
    private static final int NUMBER = 2;
    private static final int STRING = 3;
    private static final int BOOL = 4;
    private static final int STRUCT = 5;
    private static final int LIST = 6;

    private StructWriter() {}

    /**
     * Writes the object as a field.
     *
     * @throws IllegalArgumentException if the text is not a JSON object
     */
    public static void write(WireWriter out, int field, byte[] json) {
        try (JsonParser in = OtlpJson.PARSERS.createParser(json)) {
            if (in.nextToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("fields is not a JSON object: " + excerpt(json));
            }
            int start = out.begin(field);
            object(in, out);
            out.end(start);
            if (in.nextToken() != null) {
                throw new IllegalArgumentException("fields has text after its JSON object: " + excerpt(json));
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("fields is not a JSON object: " + excerpt(json), e);
        }
    }

    private static void object(JsonParser in, WireWriter out) throws IOException {
        while (in.nextToken() == JsonToken.FIELD_NAME) {
            int entry = out.begin(1);
            string(out, 1, in.currentName());
            int value = out.begin(2);
            value(in, in.nextToken(), out);
            out.end(value);
            out.end(entry);
        }
    }

    private static void value(JsonParser in, JsonToken token, WireWriter out) throws IOException {
        switch (token) {
            case VALUE_NULL -> out.varint(NULL, 0);
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT ->
                out.fixed64(NUMBER, Double.doubleToRawLongBits(in.getDoubleValue()));
            case VALUE_STRING -> string(out, STRING, in.getText());
            case VALUE_TRUE -> out.varint(BOOL, 1);
            case VALUE_FALSE -> out.varint(BOOL, 0);
            case START_OBJECT -> {
                int start = out.begin(STRUCT);
                object(in, out);
                out.end(start);
            }
            default -> {
                int start = out.begin(LIST);
                for (JsonToken each = in.nextToken(); each != JsonToken.END_ARRAY; each = in.nextToken()) {
                    int element = out.begin(1);
                    value(in, each, out);
                    out.end(element);
                }
                out.end(start);
            }
        }
    }

    private static void string(WireWriter out, int field, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.bytes(field, bytes, 0, bytes.length);
    }

    private static String excerpt(byte[] json) {
        return new String(json, 0, Math.min(json.length, 80), StandardCharsets.UTF_8);
    }
}
