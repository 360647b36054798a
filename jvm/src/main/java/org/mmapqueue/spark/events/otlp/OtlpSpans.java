package org.mmapqueue.spark.events.otlp;

import java.util.List;
import org.mmapqueue.spark.events.rows.SpanRow;
import org.mmapqueue.spark.events.skywalking.SkyWalking;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;

/** The spans of an ExportTraceServiceRequest. */
public final class OtlpSpans extends OtlpRows {
    public OtlpSpans(List<Object[]> rows) {
        super(rows);
    }

    @Override
    void record(WireReader in) throws MalformedException {
        Object[] row = new Object[SpanRow.COLUMNS];
        row[SpanRow.KIND] = SpanRow.kind(0);
        row[SpanRow.STATUS] = SpanRow.UNSET;
        long start = 0;
        long end = 0;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[SpanRow.TRACE_ID] = hex(in, 1);
                case 2 -> row[SpanRow.SPAN_ID] = hex(in, 2);
                case 4 -> row[SpanRow.PARENT] = hex(in, 4);
                case 5 -> row[SpanRow.NAME] = in.text(5);
                case 6 -> row[SpanRow.KIND] = SpanRow.kind(in.varint(6));
                case 7 -> start = in.fixed64(7);
                case 8 -> end = in.fixed64(8);
                case 9 -> AnyValues.attribute(in, 9, scratch.attributes);
                case 11 -> event(in, scratch.second);
                case 13 -> link(in, scratch.third);
                case 15 -> status(in, row);
                default -> in.skip();
            }
        }
        row[SpanRow.TIME] = micros(start);
        row[SpanRow.END] = micros(end);
        row[SpanRow.DURATION] = start == 0 || end == 0 ? null : end - start;
        row[SpanRow.ATTRIBUTES] = JsonEntries.taken(scratch.attributes, '}');
        row[SpanRow.EVENTS] = JsonEntries.taken(scratch.second, ']');
        row[SpanRow.LINKS] = JsonEntries.taken(scratch.third, ']');
        row[SpanRow.RESOURCE] = resource.attributes();
        row[SpanRow.SCOPE] = scope;
        row[SpanRow.SERVICE] = resource.service();
        row[SpanRow.INSTANCE] = resource.instance();
        rows.add(row);
    }

    private static void status(WireReader in, Object[] row) throws MalformedException {
        int outer = in.enter(15);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 2 -> row[SpanRow.STATUS_MESSAGE] = in.text(2);
                case 3 -> row[SpanRow.STATUS] = SpanRow.status(in.varint(3));
                default -> in.skip();
            }
        }
        in.leave(outer);
    }

    private static void event(WireReader in, JsonBuffer out) throws MalformedException {
        out.openOnce('[');
        out.open('{');
        int outer = in.enter(11);
        int start = in.position();
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> out.key("time_unix_nano").unsigned(in.fixed64(1));
                case 2 -> {
                    out.key("name");
                    JsonEntries.string(in, out);
                }
                default -> in.skip();
            }
        }
        in.rewind(start);
        attributes(in, 3, out);
        in.leave(outer);
        out.close('}');
    }

    private static void link(WireReader in, JsonBuffer out) throws MalformedException {
        out.openOnce('[');
        out.open('{');
        int outer = in.enter(13);
        int start = in.position();
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> SkyWalking.element(out, "trace_id", hex(in, 1));
                case 2 -> SkyWalking.element(out, "span_id", hex(in, 2));
                case 3 -> SkyWalking.element(out, "trace_state", in.text(3));
                default -> in.skip();
            }
        }
        in.rewind(start);
        attributes(in, 4, out);
        in.leave(outer);
        out.close('}');
    }

    // Reads the attributes of the message that the reader has entered, up to its end.
    private static void attributes(WireReader in, int number, JsonBuffer out) throws MalformedException {
        boolean opened = false;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field != number) {
                in.skip();
                continue;
            }
            if (!opened) {
                out.key("attributes").open('{');
                opened = true;
            }
            AnyValues.attribute(in, number, out);
        }
        if (opened) {
            out.close('}');
        }
    }
}
