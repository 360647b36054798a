package org.mmapqueue.spark.events.envelope;

import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;

/** google.protobuf.Struct as JSON text. */
final class StructJson {
    private StructJson() {}

    /** Writes the Struct that the reader has entered. */
    static void object(WireReader in, JsonBuffer out) throws MalformedException {
        out.open('{');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int outer = in.enter(1);
                entry(in, out);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
        out.close('}');
    }

    private static void entry(WireReader in, JsonBuffer out) throws MalformedException {
        int valueAt = JsonEntries.key(in, out);
        if (valueAt < 0) {
            out.nothing();
            return;
        }
        int outer = in.enterAt(valueAt, 2);
        value(in, out);
        in.leave(outer);
    }

    private static void value(WireReader in, JsonBuffer out) throws MalformedException {
        boolean written = false;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (written && field <= 6) {
                throw new MalformedException("a second value", in.position());
            }
            written |= field <= 6;
            switch (field) {
                case 1 -> {
                    in.varint(1);
                    out.nothing();
                }
                case 2 -> out.plainNumber(in.float64(2));
                case 3 -> JsonEntries.string(in, out);
                case 4 -> out.bool(in.varint(4) != 0);
                case 5 -> {
                    int outer = in.enter(5);
                    object(in, out);
                    in.leave(outer);
                }
                case 6 -> list(in, out);
                default -> in.skip();
            }
        }
        if (!written) {
            out.nothing();
        }
    }

    private static void list(WireReader in, JsonBuffer out) throws MalformedException {
        int outer = in.enter(6);
        out.open('[');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int list = in.enter(1);
                value(in, out);
                in.leave(list);
            } else {
                in.skip();
            }
        }
        out.close(']');
        in.leave(outer);
    }
}
