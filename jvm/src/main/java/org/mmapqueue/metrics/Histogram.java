package org.mmapqueue.metrics;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** Counts durations by size, from 0.1 ms to 10 s. Safe for any number of threads. */
public final class Histogram {
    private static final long[] BOUNDS = {
        100_000,
        300_000,
        1_000_000,
        3_000_000,
        10_000_000,
        30_000_000,
        100_000_000,
        300_000_000,
        1_000_000_000,
        3_000_000_000L,
        10_000_000_000L
    };

    private final AtomicLongArray counts = new AtomicLongArray(BOUNDS.length + 1);
    private final LongAdder nanos = new LongAdder();

    /** Starts without durations. */
    public Histogram() {}

    /**
     * Counts a duration.
     *
     * @param duration in ns
     */
    public void add(long duration) {
        int bucket = 0;
        while (bucket < BOUNDS.length && duration > BOUNDS[bucket]) {
            bucket++;
        }
        counts.getAndIncrement(bucket);
        nanos.add(duration);
    }

    /**
     * Returns the counts as Prometheus has them: each bucket counts all durations up to its bound.
     *
     * @param metric the metric of this histogram
     * @return its samples
     */
    public List<Sample> samples(Metric metric) {
        List<Sample> samples = new ArrayList<>();
        long count = 0;
        for (int bucket = 0; bucket < counts.length(); bucket++) {
            count += counts.get(bucket);
            samples.add(new Sample(metric, "_bucket", "le", bound(bucket), count));
        }
        samples.add(new Sample(metric, "_sum", "", "", nanos.sum() / 1e9));
        samples.add(new Sample(metric, "_count", "", "", count));
        return samples;
    }

    private static String bound(int bucket) {
        return bucket == BOUNDS.length
                ? "+Inf"
                : BigDecimal.valueOf(BOUNDS[bucket], 9).stripTrailingZeros().toPlainString();
    }
}
