package org.mmapqueue.spark.events.payload;

import java.util.Arrays;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/**
 * A native histogram of Prometheus as a data point of an exponential histogram, or of a histogram if its buckets have
 * bounds of their own. Not thread-safe.
 */
final class NativeHistogram {
    /** The scale that says that buckets have bounds of their own. */
    private static final int CUSTOM = -53;

    private static final int GAUGE = 3;
    /** The maximum number of buckets of a side, empty ones between others included. */
    private static final int MOST_BUCKETS = 10_000;

    private final Object[] row;
    private final Scratch scratch;
    private final Side positive = new Side();
    private final Side negative = new Side();
    private double[] bounds = {};
    private double zeroCount;

    NativeHistogram(Object[] row, Scratch scratch) {
        this.row = row;
        this.scratch = scratch;
    }

    void read(WireReader in) throws MalformedException {
        int scale = 0;
        double zeroThreshold = 0;
        long resets = 0;
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[PointRow.COUNT] = in.varint(1);
                case 2 -> row[PointRow.COUNT] = (long) in.float64(2);
                case 3 -> row[PointRow.SUM] = in.float64(3);
                case 4 -> scale = (int) zigzag(in.varint(4));
                case 5 -> zeroThreshold = in.float64(5);
                case 6 -> zeroCount = in.varint(6);
                case 7 -> zeroCount = in.float64(7);
                case 8 -> negative.span(in, 8);
                case 9 -> negative.deltas(in, 9);
                case 10 -> negative.counts = doubles(in, 10, negative.counts);
                case 11 -> positive.span(in, 11);
                case 12 -> positive.deltas(in, 12);
                case 13 -> positive.counts = doubles(in, 13, positive.counts);
                case 14 -> resets = in.varint(14);
                case 15 -> row[PointRow.TIME] = RemoteWrite.micros(in.varint(15));
                case 16 -> bounds = doubles(in, 16, bounds);
                default -> in.skip();
            }
        }
        boolean custom = scale == CUSTOM;
        row[PointRow.KIND] = custom ? PointRow.HISTOGRAM : PointRow.EXPONENTIAL;
        row[PointRow.TEMPORALITY] = resets == GAUGE ? null : RemoteWrite.CUMULATIVE;
        row[PointRow.MONOTONIC] = null;
        JsonBuffer out = scratch.second;
        out.open('{');
        if (custom) {
            out.key("bounds").open('[');
            for (double bound : bounds) {
                out.number(bound);
            }
            out.close(']').key("counts");
            positive.writeFromZero(out, bounds.length + 1, in.position());
        } else {
            out.key("scale").number(scale).key("zero_count").plainNumber(zeroCount);
            positive.write(out.key("positive"), in.position());
            negative.write(out.key("negative"), in.position());
            out.key("zero_threshold").number(zeroThreshold);
        }
        row[PointRow.BUCKETS] = out.close('}').take();
    }

    private static double[] doubles(WireReader in, int field, double[] before) throws MalformedException {
        limit(before.length, in);
        if (in.wireType() != WireReader.LENGTH) {
            double[] one = Arrays.copyOf(before, before.length + 1);
            one[before.length] = in.float64(field);
            return one;
        }
        int packed = in.enter(field);
        double[] all = Arrays.copyOf(before, before.length + in.remaining() / Long.BYTES);
        for (int i = before.length; in.remaining() > 0; i++) {
            long bits = in.fixed64();
            all[i] = Double.longBitsToDouble(bits);
        }
        in.leave(packed);
        return all;
    }

    private static void limit(int buckets, WireReader in) throws MalformedException {
        if (buckets > MOST_BUCKETS) {
            throw tooMany(in.position());
        }
    }

    private static MalformedException tooMany(int position) {
        return new MalformedException("a histogram with more than " + MOST_BUCKETS + " buckets", position);
    }

    private static long zigzag(long value) {
        return value >>> 1 ^ -(value & 1);
    }

    /** The buckets of positive or of negative values. */
    private static final class Side {
        /** Offset and length of each span, by turns: the first offset is that of the first bucket, others are gaps. */
        private long[] spans = {};

        private double[] counts = {};
        private long last;

        private void span(WireReader in, int number) throws MalformedException {
            long offset = 0;
            long length = 0;
            int outer = in.enter(number);
            for (int field = in.nextField(); field != 0; field = in.nextField()) {
                switch (field) {
                    case 1 -> offset = (int) zigzag(in.varint(1));
                    case 2 -> length = in.varint(2) & 0xffffffffL;
                    default -> in.skip();
                }
            }
            in.leave(outer);
            limit(spans.length / 2, in);
            spans = Arrays.copyOf(spans, spans.length + 2);
            spans[spans.length - 2] = offset;
            spans[spans.length - 1] = length;
        }

        private void deltas(WireReader in, int number) throws MalformedException {
            if (in.wireType() != WireReader.LENGTH) {
                add(in.varint(number), in);
                return;
            }
            int packed = in.enter(number);
            while (in.remaining() > 0) {
                add(in.packedVarint(), in);
            }
            in.leave(packed);
        }

        private void add(long delta, WireReader in) throws MalformedException {
            limit(counts.length, in);
            last += zigzag(delta);
            counts = Arrays.copyOf(counts, counts.length + 1);
            counts[counts.length - 1] = last;
        }

        /** The number of buckets, those in gaps included. */
        private int size(int position) throws MalformedException {
            long size = 0;
            long filled = 0;
            for (int i = 0; i < spans.length; i += 2) {
                if (i > 0 && spans[i] < 0) {
                    throw new MalformedException("a histogram with spans that overlap", position);
                }
                size += (i == 0 ? 0 : spans[i]) + spans[i + 1];
                filled += spans[i + 1];
                if (size > MOST_BUCKETS) {
                    throw tooMany(position);
                }
            }
            if (filled != counts.length) {
                throw new MalformedException(
                        "a histogram with " + counts.length + " counts for " + filled + " buckets", position);
            }
            return (int) size;
        }

        // Prometheus numbers a bucket by its upper bound, OpenTelemetry by its lower one.
        private void write(JsonBuffer out, int position) throws MalformedException {
            int size = size(position);
            long offset = spans.length == 0 ? 0 : spans[0] - 1;
            out.open('{').key("offset").number(offset).key("counts");
            list(out, size, 0);
            out.close('}');
        }

        private void writeFromZero(JsonBuffer out, int size, int position) throws MalformedException {
            long before = spans.length == 0 ? 0 : spans[0];
            if (before < 0 || before + size(position) > size) {
                throw new MalformedException("a histogram with more buckets than bounds", position);
            }
            list(out, size, (int) before);
        }

        private void list(JsonBuffer out, int size, int before) {
            double[] all = new double[size];
            int at = before;
            int next = 0;
            for (int i = 0; i < spans.length; i += 2) {
                at += i == 0 ? 0 : (int) spans[i];
                for (long left = spans[i + 1]; left > 0; left--) {
                    all[at++] = counts[next++];
                }
            }
            out.open('[');
            for (double count : all) {
                out.plainNumber(count);
            }
            out.close(']');
        }
    }
}
