package org.mmapqueue.bench.latency;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.bench.Subjects;

/**
 * One subject at one rate in a JVM of its own: one thread pushes at a steady rate, one pops. The ring has been written and
 * read once before, and the writer has warmed up. The result is one JSON object.
 */
public final class LatencyRun {
    // Dense enough for a curve.
    private static final double[] PERCENTILES = {50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999};
    private static final int ACK_EVERY = 256;
    private static final long REST_NANOS = 50_000;
    private static final long JOIN_MILLIS = 10_000;

    private volatile boolean stopped;
    private volatile Throwable failure;

    private LatencyRun() {}

    /**
     * Measures and writes the result.
     *
     * @param arguments subject, payload, segment bytes, segments, pushes a second, milliseconds of warm-up and of
     *     measurement, a directory that does not exist, the file to write
     */
    public static void main(String[] arguments) throws IOException {
        Shape shape = new Shape(
                Integer.parseInt(arguments[1]),
                Integer.parseInt(arguments[2]),
                Integer.parseInt(arguments[3]),
                Integer.parseInt(arguments[3]),
                Shape.DEFAULT_CEILING,
                true);
        int rate = Integer.parseInt(arguments[4]);
        Path directory = Path.of(arguments[7]);
        try (Subject subject = Subjects.open(arguments[0], shape, directory)) {
            Pace pace = new LatencyRun().measure(subject, shape, rate, millis(arguments[5]), millis(arguments[6]));
            Files.writeString(Path.of(arguments[8]), json(arguments[0], shape, rate, pace));
        }
    }

    private static long millis(String text) {
        return TimeUnit.MILLISECONDS.toNanos(Long.parseLong(text));
    }

    private Pace measure(Subject subject, Shape shape, int rate, long warmup, long nanos) {
        byte[] record = new byte[shape.payload()];
        new Random(rate).nextBytes(record);
        Subject.Writer writer = subject.writer();
        Subject.Reader reader = subject.reader();
        Thread thread = new Thread(() -> read(reader), "reader");
        thread.setDaemon(true);
        thread.start();
        for (long bytes = 0; bytes < shape.ringBytes(); bytes += shape.payload()) {
            while (!writer.push(record)) {
                Thread.yield();
            }
        }
        Pace pace = new Pace(writer, record, rate);
        pace.run(warmup);
        pace.run(nanos);
        stop(thread);
        return pace;
    }

    private void stop(Thread thread) {
        stopped = true;
        try {
            thread.join(JOIN_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (failure != null || thread.isAlive()) {
            throw new IllegalStateException("the reader failed", failure);
        }
    }

    // Sleeps without a record: a spinning reader would take the core of the subject's own threads.
    private void read(Subject.Reader reader) {
        try {
            int taken = 0;
            while (!stopped) {
                boolean got = reader.pop();
                taken += got ? 1 : 0;
                if (taken >= ACK_EVERY || !got && taken > 0) {
                    reader.ack();
                    taken = 0;
                }
                if (!got) {
                    LockSupport.parkNanos(REST_NANOS);
                }
            }
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    private static String json(String subject, Shape shape, int rate, Pace pace) {
        return "{\"subject\": \"" + subject + "\", \"payload_bytes\": " + shape.payload() + ", \"segment_bytes\": "
                + shape.segmentBytes() + ", \"segments\": " + shape.capacity() + ", \"pushes_per_second\": " + rate
                + ", \"count\": " + pace.service().getTotalCount() + ", \"refused\": " + pace.full()
                + ",\n \"service_micros\": " + json(pace.service()) + ",\n \"response_micros\": "
                + json(pace.response()) + "}\n";
    }

    private static String json(Histogram histogram) {
        StringBuilder text = new StringBuilder("{");
        for (double percentile : PERCENTILES) {
            text.append("\"p")
                    .append(percentile % 1 == 0 ? Long.toString((long) percentile) : percentile)
                    .append("\": ")
                    .append(histogram.getValueAtPercentile(percentile) / 1e3)
                    .append(", ");
        }
        return text.append("\"max\": ")
                .append(histogram.getMaxValue() / 1e3)
                .append(", \"mean\": ")
                .append(Math.round(histogram.getMean()) / 1e3)
                .append('}')
                .toString();
    }
}
