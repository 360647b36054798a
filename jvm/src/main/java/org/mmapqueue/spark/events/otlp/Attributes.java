package org.mmapqueue.spark.events.otlp;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.MalformedException;

/** Changes of attributes that are JSON text. */
public final class Attributes {
    private Attributes() {}

    /**
     * Renames and removes members of a JSON object, then adds those of another. Values stay byte for byte.
     *
     * @param json the object; null counts as one without members. Any other text is returned unchanged
     * @param names new names by name, in this order; a null removes the member. A renamed member replaces one that has the
     *     new name
     * @param more a JSON object with members to add or to replace; null for none
     */
    public static UTF8String changed(UTF8String json, MapData names, UTF8String more) {
        Map<String, String> members = new LinkedHashMap<>();
        try {
            if (json != null) {
                read(json.getBytes(), members);
            }
            rename(names, members);
            if (more != null) {
                read(more.getBytes(), members);
            }
        } catch (IOException | MalformedException e) {
            return json;
        }
        StringBuilder text = new StringBuilder("{");
        members.forEach((name, value) -> {
            text.append(text.length() == 1 ? "\"" : ",\"");
            text.append(JsonStringEncoder.getInstance().quoteAsString(name))
                    .append("\":")
                    .append(value);
        });
        return UTF8String.fromString(text.append('}').toString());
    }

    private static void rename(MapData names, Map<String, String> members) {
        for (int i = 0; i < names.numElements(); i++) {
            String value = members.remove(names.keyArray().getUTF8String(i).toString());
            if (value != null && !names.valueArray().isNullAt(i)) {
                members.put(names.valueArray().getUTF8String(i).toString(), value);
            }
        }
    }

    private static void read(byte[] json, Map<String, String> members) throws IOException, MalformedException {
        try (JsonParser in = OtlpJson.PARSERS.createParser(json)) {
            OtlpJson.expect(in, in.nextToken(), JsonToken.START_OBJECT, "a JSON object");
            while (in.nextToken() == JsonToken.FIELD_NAME) {
                String name = in.currentName();
                in.nextToken();
                int start = (int) in.currentTokenLocation().getByteOffset();
                in.skipChildren();
                in.finishToken();
                int end = (int) in.currentLocation().getByteOffset();
                members.put(name, new String(json, start, end - start, StandardCharsets.UTF_8));
            }
            OtlpJson.expect(in, in.nextToken(), null, "the end");
        }
    }
}
