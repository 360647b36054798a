package org.mmapqueue.spark.events.skywalking;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.SpanRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/** The spans of one SegmentObject, in OpenTelemetry's terms. */
public final class SkyWalkingSpans {
    private static final int ENTRY = 0;
    private static final int EXIT = 1;
    private static final int MESSAGING = 4;
    private static final String[] LAYERS = {"Unknown", "Database", "RPCFramework", "Http", "MQ", "Cache", "FAAS"};
    private static final long NANOS = 1_000_000;
    private static final int NO_PARENT = -1;

    private final List<Object[]> rows;
    private final Scratch scratch = Scratch.get();
    private UTF8String trace;
    private UTF8String segment;
    private UTF8String service;
    private UTF8String instance;

    public SkyWalkingSpans(List<Object[]> rows) {
        this.rows = rows;
    }

    // The shared fields come after the spans on the wire.
    public void read(byte[] data) throws MalformedException {
        WireReader in = new WireReader(data);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> trace = in.text(1);
                case 2 -> segment = in.text(2);
                case 4 -> service = in.text(4);
                case 5 -> instance = in.text(5);
                default -> in.skip();
            }
        }
        UTF8String resource = SkyWalking.resource(scratch.second, service, instance, null);
        in.rewind(0);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 3) {
                int outer = in.enter(3);
                span(in, resource);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    private void span(WireReader in, UTF8String resource) throws MalformedException {
        Object[] row = new Object[SpanRow.COLUMNS];
        int number = 0;
        int parent = 0;
        long start = 0;
        long end = 0;
        int type = 0;
        int layer = 0;
        JsonBuffer attributes = scratch.attributes;
        Reference reference = new Reference();
        row[SpanRow.STATUS] = SpanRow.UNSET;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> number = (int) in.varint(1);
                case 2 -> parent = (int) in.varint(2);
                case 3 -> start = in.varint(3);
                case 4 -> end = in.varint(4);
                case 5 -> reference.read(in, scratch.third);
                case 6 -> row[SpanRow.NAME] = in.text(6);
                case 7 -> SkyWalking.member(attributes, "peer", in.text(7));
                case 8 -> type = (int) in.varint(8);
                case 9 -> layer = (int) in.varint(9);
                case 10 -> {
                    attributes.openOnce('{');
                    attributes.key("component.id").number((int) in.varint(10));
                }
                case 11 -> row[SpanRow.STATUS] = in.varint(11) == 0 ? SpanRow.UNSET : SpanRow.ERROR_STATUS;
                case 12 -> JsonEntries.texts(in, 12, attributes);
                case 13 -> event(in, scratch.second);
                default -> in.skip();
            }
        }
        if (layer > 0 && layer < LAYERS.length) {
            attributes.openOnce('{');
            attributes.key("span.layer").string(LAYERS[layer]);
        }
        row[SpanRow.TRACE_ID] = trace;
        row[SpanRow.SPAN_ID] = SkyWalking.spanId(segment, number);
        row[SpanRow.PARENT] = parent == NO_PARENT ? reference.parent : SkyWalking.spanId(segment, parent);
        row[SpanRow.KIND] = kind(type, layer);
        row[SpanRow.TIME] = SkyWalking.micros(start);
        row[SpanRow.END] = SkyWalking.micros(end);
        row[SpanRow.DURATION] = start == 0 || end == 0 ? null : (end - start) * NANOS;
        row[SpanRow.ATTRIBUTES] = JsonEntries.taken(attributes, '}');
        row[SpanRow.EVENTS] = JsonEntries.taken(scratch.second, ']');
        row[SpanRow.LINKS] = JsonEntries.taken(scratch.third, ']');
        row[SpanRow.RESOURCE] = resource;
        row[SpanRow.SERVICE] = service;
        row[SpanRow.INSTANCE] = instance;
        rows.add(row);
    }

    private static UTF8String kind(int type, int layer) {
        return switch (type) {
            case ENTRY -> layer == MESSAGING ? SpanRow.CONSUMER : SpanRow.SERVER;
            case EXIT -> layer == MESSAGING ? SpanRow.PRODUCER : SpanRow.CLIENT;
            default -> SpanRow.INTERNAL;
        };
    }

    private static void event(WireReader in, JsonBuffer out) throws MalformedException {
        out.openOnce('[');
        out.open('{');
        int outer = in.enter(13);
        int start = in.position();
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                out.key("time_unix_nano").number(in.varint(1) * NANOS);
            } else {
                in.skip();
            }
        }
        in.rewind(start);
        out.key("attributes").open('{');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 2) {
                JsonEntries.texts(in, 2, out);
            } else {
                in.skip();
            }
        }
        in.leave(outer);
        out.close('}').close('}');
    }

    /** The segment that a span follows from. */
    private static final class Reference {
        private static final String[] KINDS = {"CrossProcess", "CrossThread"};
        /** The first span that the reference names; null for none. */
        private UTF8String parent;

        private void read(WireReader in, JsonBuffer out) throws MalformedException {
            Object[] texts = new Object[9];
            int kind = 0;
            int number = 0;
            int outer = in.enter(5);
            for (int field = in.nextField(); field != 0; field = in.nextField()) {
                switch (field) {
                    case 1 -> kind = (int) in.varint(1);
                    case 4 -> number = (int) in.varint(4);
                    case 2, 3, 5, 6, 7, 8 -> texts[field] = in.text(field);
                    default -> in.skip();
                }
            }
            in.leave(outer);
            UTF8String span = SkyWalking.spanId((UTF8String) texts[3], number);
            parent = parent == null ? span : parent;
            out.openOnce('[');
            out.open('{');
            SkyWalking.element(out, "trace_id", (UTF8String) texts[2]);
            SkyWalking.element(out, "span_id", span);
            out.key("attributes").open('{');
            out.key("ref_type").string(kind >= 0 && kind < KINDS.length ? KINDS[kind] : Integer.toString(kind));
            SkyWalking.element(out, "parent_service", (UTF8String) texts[5]);
            SkyWalking.element(out, "parent_service_instance", (UTF8String) texts[6]);
            SkyWalking.element(out, "parent_endpoint", (UTF8String) texts[7]);
            SkyWalking.element(out, "network_address", (UTF8String) texts[8]);
            out.close('}').close('}');
        }
    }
}
