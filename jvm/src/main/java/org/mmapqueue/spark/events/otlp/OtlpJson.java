package org.mmapqueue.spark.events.otlp;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;
import org.mmapqueue.spark.events.wire.WireWriter;

/**
 * Transcodes an export request of OTLP from JSON to protobuf, so that one decoder serves both.
 *
 * <p>OTLP's JSON is protobuf's with two differences: identities are hexadecimal, and enums are numbers. Unknown members
 * are ignored. Thread-safe.
 */
public final class OtlpJson {
    public static final OtlpJson LOGS = new OtlpJson("LogsRequest");
    public static final OtlpJson TRACES = new OtlpJson("TracesRequest");
    public static final OtlpJson METRICS = new OtlpJson("MetricsRequest");

    public static final JsonFactory PARSERS = JsonFactory.builder()
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .build();

    private final Map<String, OtlpSchema.Field> root;

    private OtlpJson(String message) {
        root = OtlpSchema.message(message);
    }

    /** Transcodes a payload. A payload that is not a JSON object of this message is malformed. */
    public byte[] toProtobuf(byte[] json) throws MalformedException {
        WireWriter out = new WireWriter(json.length + 64);
        try (JsonParser in = PARSERS.createParser(json)) {
            expect(in, in.nextToken(), JsonToken.START_OBJECT, "a JSON object");
            members(in, root, out, 1);
            expect(in, in.nextToken(), null, "the end");
        } catch (IOException e) {
            throw malformed(e);
        }
        return out.toBytes();
    }

    // Jackson's message ends with source and location; MalformedException has the position in the payload.
    public static MalformedException malformed(IOException e) {
        if (e instanceof com.fasterxml.jackson.core.JsonProcessingException known) {
            return new MalformedException(
                    known.getOriginalMessage(),
                    known.getLocation() == null ? 0 : (int) known.getLocation().getByteOffset());
        }
        return new MalformedException(String.valueOf(e.getMessage()), 0);
    }

    private static void members(JsonParser in, Map<String, OtlpSchema.Field> message, WireWriter out, int depth)
            throws IOException, MalformedException {
        if (depth > WireReader.MOST_DEPTH) {
            throw wrong(in, "more than " + WireReader.MOST_DEPTH + " nested messages");
        }
        while (in.nextToken() == JsonToken.FIELD_NAME) {
            OtlpSchema.Field field = message.get(in.currentName());
            JsonToken token = in.nextToken();
            if (field == null) {
                in.skipChildren();
            } else if (token == JsonToken.VALUE_NULL) {
                // As if it were absent.
                continue;
            } else if (field.repeated()) {
                expect(in, token, JsonToken.START_ARRAY, "an array for " + field.name());
                while (in.nextToken() != JsonToken.END_ARRAY) {
                    value(in, field, out, depth);
                }
            } else {
                value(in, field, out, depth);
            }
        }
    }

    private static void value(JsonParser in, OtlpSchema.Field field, WireWriter out, int depth)
            throws IOException, MalformedException {
        JsonToken token = in.currentToken();
        if (field.message() != null) {
            expect(in, token, JsonToken.START_OBJECT, "an object for " + field.name());
            int start = out.begin(field.number());
            members(in, OtlpSchema.message(field.message()), out, depth + 1);
            out.end(start);
            return;
        }
        if (token == null || !token.isScalarValue()) {
            throw wrong(in, field.name() + " is not a valid " + field.kind());
        }
        try {
            scalar(in, token, field, out);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw wrong(in, field.name() + " = " + shortened(in.getText()) + " is not a valid " + field.kind());
        }
    }

    private static void scalar(JsonParser in, JsonToken token, OtlpSchema.Field field, WireWriter out)
            throws IOException {
        String text = in.getText();
        int number = field.number();
        switch (field.kind()) {
            case "string", "hex", "base64" -> {
                require(token == JsonToken.VALUE_STRING);
                bytes(
                        out,
                        number,
                        switch (field.kind()) {
                            case "string" -> text.getBytes(StandardCharsets.UTF_8);
                            case "hex" -> HexFormat.of().parseHex(text);
                            default -> base64(text);
                        });
            }
            case "bool" -> {
                require(token.isBoolean());
                out.varint(number, token == JsonToken.VALUE_TRUE ? 1 : 0);
            }
            default -> {
                require(token == JsonToken.VALUE_STRING || token.isNumeric());
                number(text, field, out);
            }
        }
    }

    private static void number(String text, OtlpSchema.Field field, WireWriter out) {
        int number = field.number();
        switch (field.kind()) {
            case "int32" -> out.varint(number, Math.toIntExact(JsonNumbers.signed(text)));
            case "int64" -> out.varint(number, JsonNumbers.signed(text));
            case "uint64" -> out.varint(number, JsonNumbers.unsigned(text));
            case "sint32" -> {
                int value = Math.toIntExact(JsonNumbers.signed(text));
                out.varint(number, value << 1 ^ value >> 31);
            }
            case "fixed64" -> out.fixed64(number, JsonNumbers.unsigned(text));
            case "sfixed64" -> out.fixed64(number, JsonNumbers.signed(text));
            case "double" -> out.fixed64(number, Double.doubleToRawLongBits(JsonNumbers.float64(text)));
            default -> throw new IllegalStateException(field.kind());
        }
    }

    private static void require(boolean condition) {
        if (!condition) {
            throw new IllegalArgumentException();
        }
    }

    private static void bytes(WireWriter out, int field, byte[] bytes) {
        out.bytes(field, bytes, 0, bytes.length);
    }

    // Accepts both Base64 alphabets, as protobuf's JSON does.
    private static byte[] base64(String text) {
        return Base64.getDecoder().decode(text.replace('-', '+').replace('_', '/'));
    }

    public static void expect(JsonParser in, JsonToken found, JsonToken wanted, String what) throws MalformedException {
        if (found != wanted) {
            throw wrong(in, (found == null ? "the end" : found.toString()) + " in place of " + what);
        }
    }

    private static MalformedException wrong(JsonParser in, String what) {
        return new MalformedException(what, (int) in.currentTokenLocation().getByteOffset());
    }

    private static String shortened(String text) {
        return text.length() <= 40 ? text : text.substring(0, 40) + "…";
    }
}
