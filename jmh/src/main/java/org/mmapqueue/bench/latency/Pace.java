package org.mmapqueue.bench.latency;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.mmapqueue.bench.Subject;

/**
 * Pushes at a steady rate by a plan that is made beforehand: push n is due at start + n / rate, whatever happened to
 * the ones before. Two times are recorded for each: the service time, from the call to its return, and the response
 * time, from when it was due. A pause of a millisecond at 100 000 a second makes one long service time and a hundred
 * late responses; who looks at service times alone omits those hundred.
 */
final class Pace {
    private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int DIGITS = 3;

    private final Subject.Writer writer;
    private final byte[] record;
    private final int perSecond;
    private final Histogram service = new Histogram(LONGEST_NANOS, DIGITS);
    private final Histogram response = new Histogram(LONGEST_NANOS, DIGITS);
    private long refused;

    Pace(Subject.Writer writer, byte[] record, int perSecond) {
        this.writer = writer;
        this.record = record;
        this.perSecond = perSecond;
    }

    /** Pushes for so long; forgets what was recorded before. */
    void run(long nanos) {
        service.reset();
        response.reset();
        refused = 0;
        long count = (long) (nanos * 1e-9 * perSecond);
        double interval = 1e9 / perSecond;
        long start = System.nanoTime();
        for (long i = 0; i < count; i++) {
            long due = start + (long) (i * interval);
            long begun = System.nanoTime();
            // To sleep would add the time to wake up. To yield is to let the reader run where there are few cores.
            while (begun - due < 0) {
                if (due - begun > interval / 2 && interval > 20_000) {
                    Thread.yield();
                } else {
                    Thread.onSpinWait();
                }
                begun = System.nanoTime();
            }
            while (!writer.push(record)) {
                refused++;
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

    /** From when it was due to its return, in nanoseconds. */
    Histogram response() {
        return response;
    }

    /** How often there was no room. */
    long refused() {
        return refused;
    }
}
