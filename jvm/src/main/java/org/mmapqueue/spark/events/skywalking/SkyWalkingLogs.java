package org.mmapqueue.spark.events.skywalking;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.LogRow;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Pairs;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.Utf8;
import org.mmapqueue.spark.events.wire.WireReader;
import org.mmapqueue.spark.events.wire.WireWriter;

/** The logs of a SkyWalking stream: a list of serialized LogData. */
public final class SkyWalkingLogs {
    /** Tag of field 1 as bytes: a list of logs begins with it, a LogData of 2020 never does. */
    private static final int LIST_TAG = 1 << 3 | WireReader.LENGTH;

    private static final byte[] LEVEL = "level".getBytes(UTF_8);

    private final List<Object[]> rows;
    private final Scratch scratch = Scratch.get();
    private UTF8String service;
    private UTF8String instance;

    public SkyWalkingLogs(List<Object[]> rows) {
        this.rows = rows;
    }

    /**
     * Field 10 of an event as a list of logs. The first releases of Satellite had one LogData there.
     *
     * @return the list's bytes, a copy
     */
    public static byte[] list(byte[] record, int at, int length) {
        if (length == 0 || record[at] == LIST_TAG) {
            return Arrays.copyOfRange(record, at, at + length);
        }
        WireWriter list = new WireWriter(length + 16);
        list.bytes(1, record, at, length);
        return list.toBytes();
    }

    public void read(byte[] list) throws MalformedException {
        WireReader in = new WireReader(list);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int outer = in.enter(1);
                log(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    private void log(WireReader in) throws MalformedException {
        Object[] row = new Object[LogRow.COLUMNS];
        UTF8String layer = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[LogRow.TIME] = SkyWalking.micros(in.varint(1));
                case 2 -> service = given(in.text(2), service);
                case 3 -> instance = given(in.text(3), instance);
                case 4 -> row[LogRow.ENDPOINT] = in.text(4);
                case 5 -> row[LogRow.BODY] = body(in);
                case 6 -> traceContext(in, row);
                case 7 -> tags(in, row);
                case 8 -> layer = in.text(8);
                default -> in.skip();
            }
        }
        row[LogRow.ATTRIBUTES] = JsonEntries.taken(scratch.attributes, '}');
        row[LogRow.RESOURCE] = SkyWalking.resource(scratch.second, service, instance, layer);
        row[LogRow.SERVICE] = service;
        row[LogRow.INSTANCE] = instance;
        rows.add(row);
    }

    // In a stream only the first log needs to name service and instance.
    private static UTF8String given(UTF8String text, UTF8String before) {
        return text == null ? before : text;
    }

    private static UTF8String body(WireReader in) throws MalformedException {
        UTF8String text = null;
        int outer = in.enter(5);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            // Text, JSON and YAML are messages of one text each.
            if (field >= 2 && field <= 4) {
                int content = in.enter(field);
                text = UTF8String.EMPTY_UTF8;
                for (int each = in.nextField(); each != 0; each = in.nextField()) {
                    if (each == 1) {
                        text = Utf8.orEmpty(in.text(1));
                    } else {
                        in.skip();
                    }
                }
                in.leave(content);
            } else {
                in.skip();
            }
        }
        in.leave(outer);
        return text;
    }

    private static void traceContext(WireReader in, Object[] row) throws MalformedException {
        UTF8String segment = null;
        int span = 0;
        int outer = in.enter(6);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[LogRow.TRACE_ID] = in.text(1);
                case 2 -> segment = in.text(2);
                case 3 -> span = (int) in.varint(3);
                default -> in.skip();
            }
        }
        in.leave(outer);
        row[LogRow.SPAN_ID] = SkyWalking.spanId(segment, span);
    }

    // Reads tags: today a message of pairs; in 2020 a repeated field of pairs {1 key, 2 value}.
    private void tags(WireReader in, Object[] row) throws MalformedException {
        int at = in.position();
        int outer = in.enter(7);
        boolean pair = false;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            pair |= field == 2;
            in.skip();
        }
        in.leave(outer);
        int end = in.position();
        in.rewindToLength(at);
        if (pair) {
            tag(in, 7, row);
            return;
        }
        outer = in.enter(7);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                tag(in, 1, row);
            } else {
                in.skip();
            }
        }
        in.leave(outer);
        in.rewind(end);
    }

    private void tag(WireReader in, int field, Object[] row) throws MalformedException {
        int at = in.position();
        JsonEntries.texts(in, field, scratch.attributes);
        int end = in.position();
        in.rewindToLength(at);
        int outer = in.enter(field);
        UTF8String value = Pairs.value(in, LEVEL, WireReader::text);
        in.leave(outer);
        in.rewind(end);
        if (value != null) {
            row[LogRow.SEVERITY] = value;
            row[LogRow.SEVERITY_NUMBER] = LogRow.severityNumber(value);
        }
    }
}
