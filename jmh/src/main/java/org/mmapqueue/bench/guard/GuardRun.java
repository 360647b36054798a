package org.mmapqueue.bench.guard;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.Consumer;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;

/**
 * Measures push, pop, and both at once, in passes through a recycled ring, with the queue on the class path, in a JVM of
 * its own. It uses as few methods as possible, since the build may be an old one.
 */
public final class GuardRun implements MessageHandler {
    private static final int SEGMENT = 32 << 20;
    private static final int SEGMENTS = 8;
    // Leaves room for the segments in use at both ends.
    private static final long PASS_BYTES = (SEGMENTS - 3L) * SEGMENT;
    private static final int OVERHEAD = 24;
    private static final int ACK_EVERY = 256;
    private static final int LEAST_PASSES = 3;

    private final MmapQueue queue;
    private final Consumer consumer;
    private final byte[] record;
    private final int records;
    private long last;
    private long bytes;

    private GuardRun(Path directory, int payload) {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(SEGMENTS)
                .maxInMemSegments(SEGMENTS)
                .build());
        consumer = queue.consumer();
        record = new byte[payload];
        new Random(payload).nextBytes(record);
        records = (int) (PASS_BYTES / (payload + OVERHEAD));
    }

    /**
     * Runs and writes the median rates of the passes.
     *
     * @param arguments directory of the queue, which must not exist; bytes of a record; milliseconds of warm-up and of
     *     measurement; the file for three numbers: records a second pushed, popped, and both at once
     */
    public static void main(String[] arguments) throws IOException {
        GuardRun run = new GuardRun(Path.of(arguments[0]), Integer.parseInt(arguments[1]));
        run.passes(Long.parseLong(arguments[2]));
        double[] rates = run.passes(Long.parseLong(arguments[3]));
        run.queue.close();
        Files.writeString(Path.of(arguments[4]), rates[0] + " " + rates[1] + " " + rates[2]);
    }

    private double[] passes(long millis) {
        double[] push = {};
        double[] pop = {};
        double[] both = {};
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (push.length < LEAST_PASSES || System.nanoTime() - end < 0) {
            push = with(push, push());
            pop = with(pop, pop());
            both = with(both, both());
        }
        return new double[] {median(push), median(pop), median(both)};
    }

    private double push() {
        long start = System.nanoTime();
        for (int i = 0; i < records; i++) {
            queue.push(record);
        }
        return rate(start);
    }

    private double pop() {
        bytes = 0;
        long start = System.nanoTime();
        for (int i = 0; i < records; i++) {
            consumer.poll(this);
            if (i % ACK_EVERY == ACK_EVERY - 1) {
                consumer.ackUpTo(last);
            }
        }
        consumer.ackUpTo(last);
        double rate = rate(start);
        if (bytes != (long) records * record.length) {
            throw new IllegalStateException(bytes + " bytes popped in " + records + " records");
        }
        return rate;
    }

    private double both() {
        bytes = 0;
        Thread producer = new Thread(this::push);
        long start = System.nanoTime();
        producer.start();
        for (int i = 0; i < records; ) {
            if (!consumer.poll(this)) {
                Thread.onSpinWait();
            } else if (++i % ACK_EVERY == 0) {
                consumer.ackUpTo(last);
            }
        }
        consumer.ackUpTo(last);
        double rate = rate(start);
        if (bytes != (long) records * record.length) {
            throw new IllegalStateException(bytes + " bytes popped in " + records + " records");
        }
        return rate;
    }

    @Override
    public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts) {
        last = offset;
        bytes += length;
    }

    private double rate(long start) {
        return records * 1e9 / (System.nanoTime() - start);
    }

    private static double[] with(double[] values, double value) {
        double[] longer = Arrays.copyOf(values, values.length + 1);
        longer[values.length] = value;
        return longer;
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }
}
