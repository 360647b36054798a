package org.mmapqueue.spark.events.otlp;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.LogRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Utf8;
import org.mmapqueue.spark.events.wire.WireReader;

/** The log records of an ExportLogsServiceRequest. */
public final class OtlpLogs extends OtlpRows {
    public OtlpLogs(List<Object[]> rows) {
        super(rows);
    }

    @Override
    void record(WireReader in) throws MalformedException {
        Object[] row = new Object[LogRow.COLUMNS];
        JsonBuffer attributes = scratch.attributes;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[LogRow.TIME] = micros(in.fixed64(1));
                case 2 -> {
                    int number = (int) in.varint(2);
                    row[LogRow.SEVERITY_NUMBER] = number == 0 ? null : number;
                }
                case 3 -> row[LogRow.SEVERITY] = in.text(3);
                case 5 -> row[LogRow.BODY] = body(in);
                case 6 -> AnyValues.attribute(in, 6, attributes);
                case 9 -> row[LogRow.TRACE_ID] = hex(in, 9);
                case 10 -> row[LogRow.SPAN_ID] = hex(in, 10);
                case 11 -> row[LogRow.OBSERVED_TIME] = micros(in.fixed64(11));
                default -> in.skip();
            }
        }
        if (row[LogRow.SEVERITY] == null && row[LogRow.SEVERITY_NUMBER] != null) {
            row[LogRow.SEVERITY] = LogRow.severityName((Integer) row[LogRow.SEVERITY_NUMBER]);
        }
        if (row[LogRow.TIME] == null) {
            row[LogRow.TIME] = row[LogRow.OBSERVED_TIME];
        }
        row[LogRow.ATTRIBUTES] = JsonEntries.taken(attributes, '}');
        row[LogRow.RESOURCE] = resource.attributes();
        row[LogRow.SCOPE] = scope;
        row[LogRow.SERVICE] = resource.service();
        row[LogRow.INSTANCE] = resource.instance();
        rows.add(row);
    }

    // The body as text: a string itself, any other value as JSON.
    private UTF8String body(WireReader in) throws MalformedException {
        int at = in.position();
        int outer = in.enter(5);
        if (in.nextField() == 1) {
            UTF8String text = Utf8.orEmpty(in.text(1));
            if (in.remaining() == 0) {
                in.leave(outer);
                return text;
            }
        }
        in.leave(outer);
        in.rewindToLength(at);
        outer = in.enter(5);
        if (in.remaining() == 0) {
            in.leave(outer);
            return null;
        }
        AnyValues.value(in, scratch.second);
        in.leave(outer);
        return scratch.second.take();
    }
}
