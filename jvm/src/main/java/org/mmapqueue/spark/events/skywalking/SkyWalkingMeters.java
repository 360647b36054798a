package org.mmapqueue.spark.events.skywalking;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;
import org.mmapqueue.spark.events.wire.WireReader;

/** The meters of a MeterDataCollection: a single value is a gauge. */
public final class SkyWalkingMeters {
    private final List<Object[]> rows;
    private final Scratch scratch = Scratch.get();
    private UTF8String service;
    private UTF8String instance;
    private Object time;

    public SkyWalkingMeters(List<Object[]> rows) {
        this.rows = rows;
    }

    public void read(byte[] data) throws MalformedException {
        WireReader in = new WireReader(data);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == 1) {
                int outer = in.enter(1);
                meter(in);
                in.leave(outer);
            } else {
                in.skip();
            }
        }
    }

    // In a stream only the first meter needs to name service, instance and time.
    private void meter(WireReader in) throws MalformedException {
        Object[] row = new Object[PointRow.COLUMNS];
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> single(in, row);
                case 2 -> histogram(in, row);
                case 3 -> service = given(in.text(3), service);
                case 4 -> instance = given(in.text(4), instance);
                case 5 -> time = given(SkyWalking.micros(in.varint(5)), time);
                default -> in.skip();
            }
        }
        row[PointRow.TIME] = time;
        row[PointRow.ATTRIBUTES] = JsonEntries.taken(scratch.attributes, '}');
        row[PointRow.RESOURCE] = SkyWalking.resource(scratch.second, service, instance, null);
        row[PointRow.SERVICE] = service;
        row[PointRow.INSTANCE] = instance;
        rows.add(row);
    }

    private static <T> T given(T value, T before) {
        return value == null ? before : value;
    }

    private void single(WireReader in, Object[] row) throws MalformedException {
        row[PointRow.KIND] = PointRow.GAUGE;
        row[PointRow.VALUE] = 0.0;
        int outer = in.enter(1);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[PointRow.NAME] = in.text(1);
                case 2 -> JsonEntries.texts(in, 2, scratch.attributes);
                case 3 -> row[PointRow.VALUE] = in.float64(3);
                default -> in.skip();
            }
        }
        in.leave(outer);
    }

    private void histogram(WireReader in, Object[] row) throws MalformedException {
        List<Bucket> buckets = new ArrayList<>();
        row[PointRow.KIND] = PointRow.HISTOGRAM;
        int outer = in.enter(2);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            switch (field) {
                case 1 -> row[PointRow.NAME] = in.text(1);
                case 2 -> JsonEntries.texts(in, 2, scratch.attributes);
                case 3 -> buckets.add(Bucket.read(in));
                default -> in.skip();
            }
        }
        in.leave(outer);
        row[PointRow.COUNT] = buckets.stream().mapToLong(Bucket::count).sum();
        row[PointRow.BUCKETS] = json(buckets);
    }

    // SkyWalking gives the lower bound of each bucket; OpenTelemetry has upper bounds and one more bucket.
    private UTF8String json(List<Bucket> buckets) {
        JsonBuffer out = scratch.third;
        boolean open = !buckets.isEmpty() && buckets.get(0).lowest();
        out.open('{').key("bounds").open('[');
        buckets.stream().skip(open ? 1 : 0).forEach(each -> out.number(each.from()));
        out.close(']').key("counts").open('[');
        if (!open) {
            out.number(0);
        }
        buckets.forEach(each -> out.number(each.count()));
        return out.close(']').close('}').take();
    }

    /** The count of values from a lower bound up to the next bucket's. */
    private record Bucket(double from, long count, boolean lowest) {
        private static Bucket read(WireReader in) throws MalformedException {
            double from = 0;
            long count = 0;
            boolean lowest = false;
            int outer = in.enter(3);
            for (int field = in.nextField(); field != 0; field = in.nextField()) {
                switch (field) {
                    case 1 -> from = in.float64(1);
                    case 2 -> count = in.varint(2);
                    case 3 -> lowest = in.varint(3) != 0;
                    default -> in.skip();
                }
            }
            in.leave(outer);
            return new Bucket(from, count, lowest || from == Double.NEGATIVE_INFINITY);
        }
    }
}
