package org.mmapqueue.spark.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * What the records of one resource share.
 *
 * @param attributes its attributes as JSON, null without any
 * @param service its service.name, null without one
 * @param instance its service.instance.id, null without one
 */
record OtlpResource(UTF8String attributes, UTF8String service, UTF8String instance) {
    static final OtlpResource NONE = new OtlpResource(null, null, null);
    private static final byte[] SERVICE = "service.name".getBytes(UTF_8);
    private static final byte[] INSTANCE = "service.instance.id".getBytes(UTF_8);

    /** Reads the Resource, the nested message of the field. */
    static OtlpResource read(WireReader in, int field) throws MalformedException {
        JsonBuffer json = Scratch.get().attributes;
        UTF8String service = null;
        UTF8String instance = null;
        int outer = in.enter(field);
        for (int each = in.nextField(); each != 0; each = in.nextField()) {
            if (each != 1) {
                in.skip();
                continue;
            }
            int at = in.position();
            AnyValues.attribute(in, 1, json);
            int end = in.position();
            in.rewindToLength(at);
            int resource = in.enter(1);
            UTF8String found = text(in, SERVICE);
            service = found == null ? service : found;
            in.leave(resource);
            in.rewindToLength(at);
            resource = in.enter(1);
            found = text(in, INSTANCE);
            instance = found == null ? instance : found;
            in.leave(resource);
            in.rewind(end);
        }
        in.leave(outer);
        return new OtlpResource(JsonEntries.taken(json, '}'), service, instance);
    }

    // The text of the KeyValue that the reader has entered, null when it has another key or is no text.
    private static UTF8String text(WireReader in, byte[] key) throws MalformedException {
        boolean wanted = false;
        UTF8String text = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int length = in.length(1);
                wanted = Arrays.equals(in.bytes(), in.position(), in.position() + length, key, 0, key.length);
                in.rewind(in.position() + length);
            } else if (field == 2) {
                int outer = in.enter(2);
                for (int kind = in.nextField(); kind != 0; kind = in.nextField()) {
                    if (kind == 1) {
                        text = in.text(1);
                    } else {
                        in.skip();
                    }
                }
                in.leave(outer);
            } else {
                in.skip();
            }
        }
        return wanted ? text : null;
    }
}
