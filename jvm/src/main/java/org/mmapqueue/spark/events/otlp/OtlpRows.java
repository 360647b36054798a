package org.mmapqueue.spark.events.otlp;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.Utf8;
import org.mmapqueue.spark.events.wire.WireReader;

/**
 * Walks an export request of OTLP: resources contain scopes, which contain records. The three requests have the same
 * shape.
 *
 * <p>A resource may come before or after its records on the wire, so each level is read twice: first for the shared
 * fields, then for the records. Not thread-safe.
 */
abstract class OtlpRows {
    /** Receives the rows. */
    final List<Object[]> rows;

    final Scratch scratch = Scratch.get();
    OtlpResource resource;
    UTF8String scope;

    OtlpRows(List<Object[]> rows) {
        this.rows = rows;
    }

    /** Adds the rows of the record that the reader has entered. */
    abstract void record(WireReader in) throws MalformedException;

    public final void read(byte[] request) throws MalformedException {
        each(new WireReader(request), 1, this::resource);
    }

    private void resource(WireReader in) throws MalformedException {
        int start = in.position();
        resource = OtlpResource.NONE;
        each(in, 1, nested -> resource = OtlpResource.read(nested));
        in.rewind(start);
        each(in, 2, this::scope);
    }

    private void scope(WireReader in) throws MalformedException {
        int start = in.position();
        scope = null;
        each(in, 1, this::scopeName);
        in.rewind(start);
        each(in, 2, this::record);
    }

    private void scopeName(WireReader in) throws MalformedException {
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                scope = in.text(1);
            } else {
                in.skip();
            }
        }
    }

    // Reads the rest of the message that the reader is in; a part reads each nested message of one field.
    private static void each(WireReader in, int number, Part part) throws MalformedException {
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == number) {
                int outer = in.enter(number);
                part.read(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    /** Reads the message that the reader has entered, to its end. */
    @FunctionalInterface
    private interface Part {
        void read(WireReader in) throws MalformedException;
    }

    /** A time in ns as Spark's µs; null for 0, which is not a time. */
    static Object micros(long nanos) {
        return nanos == 0 ? null : Long.divideUnsigned(nanos, 1000);
    }

    /** An identity of bytes as hexadecimal text. */
    static UTF8String hex(WireReader in, int field) throws MalformedException {
        int length = in.length(field);
        UTF8String text = Utf8.hex(in.bytes(), in.position(), length);
        in.rewind(in.position() + length);
        return text;
    }
}
