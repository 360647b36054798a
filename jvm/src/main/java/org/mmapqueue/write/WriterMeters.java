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

/** Measures fsyncs of records, and the waits of pushes for room. Safe for any number of threads. */
public final class WriterMeters {
    private final Histogram fsyncs = new Histogram();
    private final LongAdder waits = new LongAdder();
    private final LongAdder waitNanos = new LongAdder();

    WriterMeters() {}

    /** Wraps a syncer of segments so that it is measured. */
    SegmentSyncer measured(SegmentSyncer segments) {
        return (id, from, to) -> {
            long begin = System.nanoTime();
            segments.force(id, from, to);
            fsyncs.add(System.nanoTime() - begin);
        };
    }

    /** As {@link Signal#await}, with the wait measured. */
    void await(Signal notFull, long deadline, BooleanSupplier ready) throws InterruptedException {
        long begin = System.nanoTime();
        try {
            notFull.await(deadline, ready);
        } finally {
            waitNanos.add(System.nanoTime() - begin);
        }
    }

    /** Notes that a push that had waited found room. */
    void foundRoom() {
        waits.increment();
    }

    /** What was measured since the queue was opened. */
    public List<Sample> samples() {
        List<Sample> samples = new ArrayList<>(fsyncs.samples(Metric.FSYNC_SECONDS));
        samples.add(Sample.of(Metric.ROOM_WAITS, waits.sum()));
        samples.add(Sample.of(Metric.ROOM_WAIT_SECONDS, waitNanos.sum() / 1e9));
        return samples;
    }
}
