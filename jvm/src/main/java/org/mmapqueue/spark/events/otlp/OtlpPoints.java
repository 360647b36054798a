package org.mmapqueue.spark.events.otlp;

import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;

/** The data points of an ExportMetricsServiceRequest, one row for each point of a metric. */
public final class OtlpPoints extends OtlpRows {
    private static final UTF8String DELTA = UTF8String.fromString("delta");
    private static final UTF8String CUMULATIVE = UTF8String.fromString("cumulative");

    private UTF8String name;
    private UTF8String description;
    private UTF8String unit;
    private UTF8String kind;
    private UTF8String temporality;
    private Boolean monotonic;

    public OtlpPoints(List<Object[]> rows) {
        super(rows);
    }

    /** OpenTelemetry's number of a temporality; 0 for none. */
    static int temporality(UTF8String name) {
        return DELTA.equals(name) ? 1 : CUMULATIVE.equals(name) ? 2 : 0;
    }

    @Override
    void record(WireReader in) throws MalformedException {
        int start = in.position();
        name = null;
        description = null;
        unit = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> name = in.text(1);
                case 2 -> description = in.text(2);
                case 3 -> unit = in.text(3);
                default -> in.skip();
            }
        }
        in.rewind(start);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            kind = switch (field) {
                case 5 -> PointRow.GAUGE;
                case 7 -> PointRow.SUM_KIND;
                case 9 -> PointRow.HISTOGRAM;
                case 10 -> PointRow.EXPONENTIAL;
                case 11 -> PointRow.SUMMARY;
                default -> null;
            };
            if (kind == null) {
                in.skip();
            } else {
                int outer = in.enter(field);
                points(in);
                in.leave(outer);
            }
        }
    }

    @SuppressWarnings("ReferenceEquality") // kinds are the constants of PointRow
    private void points(WireReader in) throws MalformedException {
        int start = in.position();
        temporality = null;
        monotonic = kind == PointRow.SUM_KIND ? false : null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 2 -> {
                    long number = in.varint(2);
                    temporality = number == 1 ? DELTA : number == 2 ? CUMULATIVE : null;
                }
                case 3 -> monotonic = in.varint(3) != 0;
                default -> in.skip();
            }
        }
        in.rewind(start);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int outer = in.enter(1);
                point(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    @SuppressWarnings("ReferenceEquality") // as above
    private void point(WireReader in) throws MalformedException {
        Object[] row = new Object[PointRow.COLUMNS];
        row[PointRow.NAME] = name;
        row[PointRow.DESCRIPTION] = description;
        row[PointRow.UNIT] = unit;
        row[PointRow.KIND] = kind;
        row[PointRow.TEMPORALITY] = temporality;
        row[PointRow.MONOTONIC] = monotonic;
        if (kind == PointRow.HISTOGRAM) {
            OtlpBuckets.histogram(in, row, scratch);
        } else if (kind == PointRow.EXPONENTIAL) {
            OtlpBuckets.exponential(in, row, scratch);
        } else if (kind == PointRow.SUMMARY) {
            OtlpBuckets.summary(in, row, scratch);
        } else {
            number(in, row);
        }
        row[PointRow.ATTRIBUTES] = JsonEntries.taken(scratch.attributes, '}');
        row[PointRow.RESOURCE] = resource.attributes();
        row[PointRow.SCOPE] = scope;
        row[PointRow.SERVICE] = resource.service();
        row[PointRow.INSTANCE] = resource.instance();
        rows.add(row);
    }

    private void number(WireReader in, Object[] row) throws MalformedException {
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 2 -> row[PointRow.START] = micros(in.fixed64(2));
                case 3 -> row[PointRow.TIME] = micros(in.fixed64(3));
                case 4 -> row[PointRow.VALUE] = in.float64(4);
                case 6 -> row[PointRow.VALUE] = (double) in.fixed64(6);
                case 7 -> AnyValues.attribute(in, 7, scratch.attributes);
                default -> in.skip();
            }
        }
    }
}
