package org.mmapqueue.spark.events.payload;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/**
 * Requests of Prometheus' remote write as data points, one row for each sample and each native histogram. Version 1 has
 * the texts of labels in each series, version 2 their numbers in a list of the request.
 *
 * <p>A counter is a cumulative sum, and any other sample a gauge. Exemplars are left out. Not thread-safe.
 */
final class RemoteWrite {
    private static final UTF8String NAME = UTF8String.fromString("__name__");
    private static final UTF8String JOB = UTF8String.fromString("job");
    private static final UTF8String INSTANCE = UTF8String.fromString("instance");
    private static final UTF8String TOTAL = UTF8String.fromString("_total");
    static final UTF8String CUMULATIVE = UTF8String.fromString("cumulative");
    /** The value of a series that has ended. */
    private static final long STALE = 0x7ff0000000000002L;

    private static final Metadata UNKNOWN = new Metadata(0, null, null);
    private static final int COUNTER = 1;

    private final List<Object[]> rows;
    private final boolean second;
    private final List<UTF8String> symbols = new ArrayList<>();
    private final Map<UTF8String, Metadata> families = new HashMap<>();
    private final Scratch scratch = Scratch.get();
    /** What the rows of a series share. */
    private Object[] shared;

    RemoteWrite(List<Object[]> rows, boolean second) {
        this.rows = rows;
        this.second = second;
    }

    private record Metadata(int type, UTF8String help, UTF8String unit) {}

    void read(byte[] data) throws MalformedException {
        WireReader in = new WireReader(data);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (second && field == 4) {
                symbols.add(orEmpty(in.text(4)));
            } else if (!second && field == 3) {
                int outer = in.enter(3);
                family(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
        in.rewind(0);
        int number = second ? 5 : 1;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == number) {
                int outer = in.enter(number);
                series(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    private void family(WireReader in) throws MalformedException {
        int type = 0;
        UTF8String name = null;
        UTF8String help = null;
        UTF8String unit = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> type = (int) in.varint(1);
                case 2 -> name = in.text(2);
                case 4 -> help = in.text(4);
                case 5 -> unit = in.text(5);
                default -> in.skip();
            }
        }
        if (name != null) {
            families.put(name, new Metadata(type, help, unit));
        }
    }

    private void series(WireReader in) throws MalformedException {
        shared = new Object[PointRow.COLUMNS];
        int start = in.position();
        Metadata metadata = UNKNOWN;
        Labels labels = new Labels();
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1 && second) {
                references(in, labels);
            } else if (field == 1) {
                label(in, labels);
            } else if (field == 5 && second) {
                metadata = metadata(in);
            } else if (field == 6 && second) {
                long made = in.varint(6);
                shared[PointRow.START] = made == 0 ? null : micros(made);
            } else {
                in.skip();
            }
        }
        labels.end(in.position());
        shared[PointRow.ATTRIBUTES] = JsonEntries.taken(scratch.attributes, '}');
        describe(second ? metadata : family((UTF8String) shared[PointRow.NAME]));
        in.rewind(start);
        int histograms = second ? 3 : 4;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 2 || field == histograms) {
                int outer = in.enter(field);
                if (field == 2) {
                    sample(in);
                } else {
                    Object[] row = shared.clone();
                    new NativeHistogram(row, scratch).read(in);
                    rows.add(row);
                }
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    private Metadata family(UTF8String name) {
        if (families.isEmpty() || name == null) {
            return UNKNOWN;
        }
        Metadata found = families.get(name);
        if (found == null && name.endsWith(TOTAL)) {
            found = families.get(name.substring(0, name.numChars() - TOTAL.numChars()));
        }
        return found == null ? UNKNOWN : found;
    }

    private void describe(Metadata metadata) {
        boolean counter = metadata.type == COUNTER;
        shared[PointRow.DESCRIPTION] = text(metadata.help);
        shared[PointRow.UNIT] = text(metadata.unit);
        shared[PointRow.KIND] = counter ? PointRow.SUM_KIND : PointRow.GAUGE;
        shared[PointRow.TEMPORALITY] = counter ? CUMULATIVE : null;
        shared[PointRow.MONOTONIC] = counter ? true : null;
    }

    // Readers have null for an empty text.
    private static UTF8String orEmpty(UTF8String text) {
        return text == null ? UTF8String.EMPTY_UTF8 : text;
    }

    private static UTF8String text(UTF8String text) {
        return text == null || text.numBytes() == 0 ? null : text;
    }

    private void sample(WireReader in) throws MalformedException {
        Object[] row = shared.clone();
        double value = 0;
        long time = 0;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> value = in.float64(1);
                case 2 -> time = in.varint(2);
                case 3 -> {
                    // Version 2 of late: the start of a counter.
                    long made = in.varint(3);
                    row[PointRow.START] = made == 0 ? row[PointRow.START] : micros(made);
                }
                default -> in.skip();
            }
        }
        row[PointRow.TIME] = micros(time);
        row[PointRow.VALUE] = Double.doubleToRawLongBits(value) == STALE ? null : (Object) value;
        rows.add(row);
    }

    /** Milliseconds as Spark's µs; null out of range. */
    static Object micros(long millis) {
        return Math.abs(millis) <= Long.MAX_VALUE / 1000 && millis != Long.MIN_VALUE ? (Object) (millis * 1000) : null;
    }

    private void label(WireReader in, Labels labels) throws MalformedException {
        int outer = in.enter(1);
        UTF8String name = null;
        UTF8String value = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> name = in.text(1);
                case 2 -> value = in.text(2);
                default -> in.skip();
            }
        }
        in.leave(outer);
        labels.add(orEmpty(name));
        labels.add(orEmpty(value));
    }

    private void references(WireReader in, Labels labels) throws MalformedException {
        if (in.wireType() != WireReader.LENGTH) {
            labels.add(symbol(in.varint(1), in));
            return;
        }
        int packed = in.enter(1);
        while (in.remaining() > 0) {
            labels.add(symbol(in.packedVarint(), in));
        }
        in.leave(packed);
    }

    private UTF8String symbol(long reference, WireReader in) throws MalformedException {
        if (reference < 0 || reference >= symbols.size()) {
            throw new MalformedException("symbol " + reference + " of " + symbols.size() + " symbols", in.position());
        }
        return symbols.get((int) reference);
    }

    private Metadata metadata(WireReader in) throws MalformedException {
        int outer = in.enter(5);
        int type = 0;
        UTF8String help = null;
        UTF8String unit = null;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> type = (int) in.varint(1);
                case 3 -> help = symbol(in.varint(3), in);
                case 4 -> unit = symbol(in.varint(4), in);
                default -> in.skip();
            }
        }
        in.leave(outer);
        return new Metadata(type, help, unit);
    }

    /** The labels of a series: names and values by turns. */
    private final class Labels {
        private UTF8String name;

        private void add(UTF8String text) {
            if (name == null) {
                name = text;
                return;
            }
            if (name.equals(NAME)) {
                shared[PointRow.NAME] = text;
            } else {
                if (name.equals(JOB)) {
                    shared[PointRow.SERVICE] = text;
                } else if (name.equals(INSTANCE)) {
                    shared[PointRow.INSTANCE] = text;
                }
                JsonBuffer out = scratch.attributes;
                out.openOnce('{');
                out.key(name.getBytes(), 0, name.numBytes()).string(text);
            }
            name = null;
        }

        private void end(int position) throws MalformedException {
            if (name != null) {
                throw new MalformedException("a label without a value", position);
            }
        }
    }
}
