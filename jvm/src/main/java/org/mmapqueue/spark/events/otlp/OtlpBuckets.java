package org.mmapqueue.spark.events.otlp;

import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/** Data points of histograms and summaries: their distribution is JSON. */
final class OtlpBuckets {
    private OtlpBuckets() {}

    /**
     * Writes {"bounds": […], "counts": […], "min": …, "max": …}; bounds are upper bounds, which the last count does not
     * have.
     */
    static void histogram(WireReader in, Object[] row, Scratch scratch) throws MalformedException {
        JsonBuffer counts = scratch.second;
        JsonBuffer bounds = scratch.third;
        Double min = null;
        Double max = null;
        counts.open('[');
        bounds.open('[');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 6 -> fixed(in, 6, counts, false);
                case 7 -> fixed(in, 7, bounds, true);
                case 9 -> AnyValues.attribute(in, 9, scratch.attributes);
                case 11 -> min = in.float64(11);
                case 12 -> max = in.float64(12);
                default -> shared(in, field, row);
            }
        }
        JsonBuffer out = scratch.fourth;
        out.open('{')
                .key("bounds")
                .json(bounds.close(']').take())
                .key("counts")
                .json(counts.close(']').take());
        limits(out, min, max);
        row[PointRow.BUCKETS] = out.close('}').take();
    }

    /** {"scale": …, "zero_count": …, "positive": {"offset": …, "counts": […]}, "negative": …}. */
    static void exponential(WireReader in, Object[] row, Scratch scratch) throws MalformedException {
        JsonBuffer out = scratch.second;
        Double min = null;
        Double max = null;
        out.open('{');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> AnyValues.attribute(in, 1, scratch.attributes);
                case 6 -> out.key("scale").number(zigzag(in.varint(6)));
                case 7 -> out.key("zero_count").unsigned(in.fixed64(7));
                case 8 -> side(in, 8, out.key("positive"), scratch.third);
                case 9 -> side(in, 9, out.key("negative"), scratch.third);
                case 12 -> min = in.float64(12);
                case 13 -> max = in.float64(13);
                case 14 -> out.key("zero_threshold").number(in.float64(14));
                default -> shared(in, field, row);
            }
        }
        limits(out, min, max);
        row[PointRow.BUCKETS] = out.close('}').take();
    }

    /** {"quantiles": [{"quantile": …, "value": …}, …]}. */
    static void summary(WireReader in, Object[] row, Scratch scratch) throws MalformedException {
        JsonBuffer out = scratch.second;
        out.open('{').key("quantiles").open('[');
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 6 -> quantile(in, out);
                case 7 -> AnyValues.attribute(in, 7, scratch.attributes);
                default -> shared(in, field, row);
            }
        }
        row[PointRow.BUCKETS] = out.close(']').close('}').take();
    }

    // Reads times, count and sum, which have the same field numbers in all three messages.
    private static void shared(WireReader in, int field, Object[] row) throws MalformedException {
        switch (field) {
            case 2 -> row[PointRow.START] = OtlpRows.micros(in.fixed64(2));
            case 3 -> row[PointRow.TIME] = OtlpRows.micros(in.fixed64(3));
            case 4 -> row[PointRow.COUNT] = in.fixed64(4);
            case 5 -> row[PointRow.SUM] = in.float64(5);
            default -> in.skip();
        }
    }

    private static void limits(JsonBuffer out, Double min, Double max) {
        if (min != null) {
            out.key("min").number(min);
        }
        if (max != null) {
            out.key("max").number(max);
        }
    }

    private static void quantile(WireReader in, JsonBuffer out) throws MalformedException {
        double quantile = 0;
        double value = 0;
        int outer = in.enter(6);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> quantile = in.float64(1);
                case 2 -> value = in.float64(2);
                default -> in.skip();
            }
        }
        in.leave(outer);
        out.open('{')
                .key("quantile")
                .number(quantile)
                .key("value")
                .number(value)
                .close('}');
    }

    private static void side(WireReader in, int number, JsonBuffer out, JsonBuffer counts) throws MalformedException {
        long offset = 0;
        counts.open('[');
        int outer = in.enter(number);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                offset = zigzag(in.varint(1));
            } else if (field == 2 && in.wireType() == WireReader.LENGTH) {
                int packed = in.enter(2);
                while (in.remaining() > 0) {
                    counts.unsigned(in.packedVarint());
                }
                in.leave(packed);
            } else if (field == 2) {
                counts.unsigned(in.varint(2));
            } else {
                in.skip();
            }
        }
        in.leave(outer);
        out.open('{')
                .key("offset")
                .number(offset)
                .key("counts")
                .json(counts.close(']').take())
                .close('}');
    }

    // Accepts packed and unpacked fields, as protobuf requires of readers.
    private static void fixed(WireReader in, int field, JsonBuffer out, boolean isDouble) throws MalformedException {
        if (in.wireType() != WireReader.LENGTH) {
            write(in.fixed64(field), isDouble, out);
            return;
        }
        int outer = in.enter(field);
        while (in.remaining() > 0) {
            write(in.fixed64(), isDouble, out);
        }
        in.leave(outer);
    }

    private static void write(long value, boolean isDouble, JsonBuffer out) {
        if (isDouble) {
            out.number(Double.longBitsToDouble(value));
        } else {
            out.unsigned(value);
        }
    }

    private static int zigzag(long value) {
        int low = (int) value;
        return low >>> 1 ^ -(low & 1);
    }
}
