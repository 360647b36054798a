package org.mmapqueue.spark.events;

import java.util.List;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * Walks an export request of OTLP: resources, in them scopes, in them records. The three requests have one shape.
 *
 * <p>A resource counts for its records wherever it stands on the wire, so each level is read twice: for what its
 * records share, then for the records. One thread.
 */
abstract class OtlpRows {
    /** Where the records' rows go. */
    final List<Object[]> rows;
    final Scratch scratch = Scratch.get();
    OtlpResource resource;
    UTF8String scope;

    OtlpRows(List<Object[]> rows) {
        this.rows = rows;
    }

    /** Makes rows of the record that the reader has entered. */
    abstract void record(WireReader in) throws MalformedException;

    final void read(byte[] request) throws MalformedException {
        WireReader in = new WireReader(request);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int outer = in.enter(1);
                resource(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    private void resource(WireReader in) throws MalformedException {
        int start = in.position();
        resource = OtlpResource.NONE;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                resource = OtlpResource.read(in, 1);
            } else {
                in.skip();
            }
        }
        in.rewind(start);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 2) {
                int outer = in.enter(2);
                scope(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    private void scope(WireReader in) throws MalformedException {
        int start = in.position();
        scope = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int outer = in.enter(1);
                scopeName(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
        in.rewind(start);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 2) {
                int outer = in.enter(2);
                record(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
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

    /** A time in ns as Spark's µs; null for 0, which is no time. */
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
