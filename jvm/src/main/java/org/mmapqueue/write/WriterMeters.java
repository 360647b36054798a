package org.mmapqueue.write;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.metrics.Histogram;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.metrics.Sample;
import org.mmapqueue.segment.SegmentSyncer;

/** Measures fsyncs of records, and waits for room. Any number of threads. */
public final class WriterMeters {
    private final Histogram fsyncs = new Histogram();
    private final LongAdder waits = new LongAdder();
    private final LongAdder waitNanos = new LongAdder();

    WriterMeters() {}

    /** A syncer of segments that is measured. */
    SegmentSyncer measured(SegmentSyncer segments) {
        return (id, from, to) -> {
            long begin = System.nanoTime();
            segments.force(id, from, to);
            fsyncs.add(System.nanoTime() - begin);
        };
    }

    /** As {@link Signal#await}, measured. */
    void await(Signal notFull, long deadline, BooleanSupplier ready) throws InterruptedException {
        long begin = System.nanoTime();
        try {
            notFull.await(deadline, ready);
        } finally {
            waitNanos.add(System.nanoTime() - begin);
        }
    }

    /** A push that had waited found room. */
    void foundRoom() {
        waits.increment();
    }

    /** What was measured so far. */
    public List<Sample> samples() {
        List<Sample> samples = new ArrayList<>(fsyncs.samples(Metric.FSYNC_SECONDS));
        samples.add(Sample.of(Metric.ROOM_WAITS, waits.sum()));
        samples.add(Sample.of(Metric.ROOM_WAIT_SECONDS, waitNanos.sum() / 1e9));
        return samples;
    }
}
