package org.mmapqueue.spark.events.wire;

import org.apache.spark.unsafe.types.UTF8String;

/** Entries of protobuf messages {1 key, 2 value} as members of a JSON object. */
public final class JsonEntries {
    private JsonEntries() {}

    /**
     * Writes the key of the entry that the reader has entered.
     *
     * @return the position of the value's length, for {@link WireReader#enterAt}; -1 if there is no value
     */
    public static int key(WireReader in, JsonBuffer out) throws MalformedException {
        int keyAt = 0;
        int keyLength = 0;
        int valueAt = -1;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                keyLength = in.length(1);
                keyAt = in.position();
                in.rewind(keyAt + keyLength);
            } else if (field == 2) {
                in.expect(WireReader.LENGTH, 2);
                valueAt = in.position();
                in.skip();
            } else {
                in.skip();
            }
        }
        out.key(in.bytes(), keyAt, keyLength);
        return valueAt;
    }

    /** Writes a pair of texts, the nested message of the field, into an object, which is opened if necessary. */
    public static void texts(WireReader in, int field, JsonBuffer out) throws MalformedException {
        out.openOnce('{');
        int outer = in.enter(field);
        int valueAt = key(in, out);
        if (valueAt < 0) {
            out.string("");
        } else {
            in.rewindToLength(valueAt);
            string(in, out);
        }
        in.leave(outer);
    }

    /** Writes the next text, which begins with its length. */
    public static void string(WireReader in, JsonBuffer out) throws MalformedException {
        int length = in.length(0);
        out.string(in.bytes(), in.position(), length);
        in.rewind(in.position() + length);
    }

    /** The object that {@link JsonBuffer#openOnce} has opened; null for none. */
    public static UTF8String taken(JsonBuffer out, char bracket) {
        return out.isEmpty() ? null : out.close(bracket).take();
    }
}
