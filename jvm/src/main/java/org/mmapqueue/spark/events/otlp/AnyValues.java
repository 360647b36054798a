package org.mmapqueue.spark.events.otlp;

import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;

/** OpenTelemetry's values and attributes as JSON. */
final class AnyValues {
    private static final int LAST_KIND = 7;

    private AnyValues() {}

    /** Writes the KeyValue, the nested message of the field, into an object, which is opened if necessary. */
    static void attribute(WireReader in, int field, JsonBuffer out) throws MalformedException {
        out.openOnce('{');
        member(in, field, out);
    }

    private static void member(WireReader in, int field, JsonBuffer out) throws MalformedException {
        int outer = in.enter(field);
        int valueAt = JsonEntries.key(in, out);
        if (valueAt < 0) {
            out.nothing();
        } else {
            int entry = in.enterAt(valueAt, 2);
            value(in, out);
            in.leave(entry);
        }
        in.leave(outer);
    }

    /** Writes the AnyValue that the reader has entered; an empty one as null. */
    static void value(WireReader in, JsonBuffer out) throws MalformedException {
        boolean written = false;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field > LAST_KIND) {
                in.skip();
                continue;
            }
            if (written) {
                throw new MalformedException("a second value", in.position());
            }
            written = true;
            switch (field) {
                case 1 -> JsonEntries.string(in, out);
                case 2 -> out.bool(in.varint(2) != 0);
                case 3 -> out.number(in.varint(3));
                case 4 -> out.number(in.float64(4));
                case 5 -> list(in, out);
                case 6 -> members(in, out);
                default -> {
                    int length = in.length(7);
                    out.base64(in.bytes(), in.position(), length);
                    in.rewind(in.position() + length);
                }
            }
        }
        if (!written) {
            out.nothing();
        }
    }

    private static void list(WireReader in, JsonBuffer out) throws MalformedException {
        int outer = in.enter(5);
        out.open('[');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int element = in.enter(1);
                value(in, out);
                in.leave(element);
            } else {
                in.skip();
            }
        }
        out.close(']');
        in.leave(outer);
    }

    private static void members(WireReader in, JsonBuffer out) throws MalformedException {
        int outer = in.enter(6);
        out.open('{');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                member(in, 1, out);
            } else {
                in.skip();
            }
        }
        out.close('}');
        in.leave(outer);
    }
}
