package org.mmapqueue.bench.latency;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.mmapqueue.bench.Subject;

/**
 * Pushes at a steady rate: push n is due at start + n / rate, whatever the pushes before took. The service time is the
 * duration of the call; the response time counts from the due time. A pause of 1 ms at 100 000 pushes a second gives one
 * long service time and a hundred late responses, so service times alone would omit a hundred delays.
 */
final class Pace {
    private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int DIGITS = 3;

    private final Subject.Writer writer;
    private final byte[] record;
    private final int perSecond;
    private final Histogram service = new Histogram(LONGEST_NANOS, DIGITS);
    private final Histogram response = new Histogram(LONGEST_NANOS, DIGITS);
    private long full;

    Pace(Subject.Writer writer, byte[] record, int perSecond) {
        this.writer = writer;
        this.record = record;
        this.perSecond = perSecond;
    }

    /** Pushes for {@code nanos}, and replaces the recorded times. */
    void run(long nanos) {
        service.reset();
        response.reset();
        full = 0;
        long count = (long) (nanos * 1e-9 * perSecond);
        double interval = 1e9 / perSecond;
        long start = System.nanoTime();
        for (long i = 0; i < count; i++) {
            long due = start + (long) (i * interval);
            long begun = System.nanoTime();
            // A sleep would add the wake-up time. A yield lets the reader run on few cores.
            while (begun - due < 0) {
                if (due - begun > interval / 2 && interval > 20_000) {
                    Thread.yield();
                } else {
                    Thread.onSpinWait();
                }
                begun = System.nanoTime();
            }
            while (!writer.push(record)) {
                full++;
                Thread.yield();
            }
            long done = System.nanoTime();
            service.recordValue(Math.min(LONGEST_NANOS, done - begun));
            response.recordValue(Math.min(LONGEST_NANOS, done - due));
        }
    }

    /** From call to return, in nanoseconds. */
    Histogram service() {
        return service;
    }

    /** From the due time to the return, in nanoseconds. */
    Histogram response() {
        return response;
    }

    /** How often the subject was full. */
    long full() {
        return full;
    }
}
