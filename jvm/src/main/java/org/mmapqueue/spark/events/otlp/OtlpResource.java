package org.mmapqueue.spark.events.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Pairs;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/**
 * The columns that the records of one resource share.
 *
 * @param attributes the attributes as JSON; null for none
 * @param service service.name; null for none
 * @param instance service.instance.id; null for none
 */
record OtlpResource(UTF8String attributes, UTF8String service, UTF8String instance) {
    static final OtlpResource NONE = new OtlpResource(null, null, null);
    private static final byte[] SERVICE = "service.name".getBytes(UTF_8);
    private static final byte[] INSTANCE = "service.instance.id".getBytes(UTF_8);

    /** Reads the Resource that the reader has entered. */
    static OtlpResource read(WireReader in) throws MalformedException {
        JsonBuffer json = Scratch.get().attributes;
        UTF8String service = null;
        UTF8String instance = null;
        for (int each = in.nextField(); each != 0; each = in.nextField()) {
            if (each != 1) {
                in.skip();
                continue;
            }
            int at = in.position();
            AnyValues.attribute(in, 1, json);
            int end = in.position();
            UTF8String found = attribute(in, at, SERVICE);
            service = found == null ? service : found;
            found = attribute(in, at, INSTANCE);
            instance = found == null ? instance : found;
            in.rewind(end);
        }
        return new OtlpResource(JsonEntries.taken(json, '}'), service, instance);
    }

    // The text of the attribute with its length at a position; null if it has another key or is not a string.
    private static UTF8String attribute(WireReader in, int at, byte[] key) throws MalformedException {
        in.rewindToLength(at);
        int outer = in.enter(1);
        UTF8String text = Pairs.value(in, key, OtlpResource::text);
        in.leave(outer);
        return text;
    }

    // The text of an AnyValue; null if it is not a string.
    private static UTF8String text(WireReader in, int field) throws MalformedException {
        UTF8String text = null;
        int outer = in.enter(field);
        for (int kind = in.nextField(); kind != 0; kind = in.nextField()) {
            if (kind == 1) {
                text = in.text(1);
            } else {
                in.skip();
            }
        }
        in.leave(outer);
        return text;
    }
}
