package org.mmapqueue.bench.scale;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * What a push and a pop cost while so much is queued, in a JVM of its own. Bursts are short and the queue is flushed
 * between them, untimed, and the records to be popped are in the page cache: what is looked at is the queue, and not how
 * fast the disk takes or gives bytes.
 */
final class PairsRun {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int BURST = 32 << 10;
    /** Bursts that are not measured, for the compiler. */
    static final int WARM_UP = 6;

    private static final int BURSTS = 10;
    private static final int GROUPS = BURST / ScaleQueue.ACK_EVERY;

    private final ScaleQueue lane;
    private final double[] pushes = new double[BURSTS * GROUPS];
    private final double[] pops = new double[BURSTS * GROUPS];

    private PairsRun(ScaleQueue lane) {
        this.lane = lane;
    }

    /**
     * Runs; brings the queue to its size before.
     *
     * @param arguments those of {@link ScaleQueue}; payload bytes that are queued; the file for the result, one JSON object;
     *     bursts that are not measured
     */
    public static void main(String[] arguments) throws IOException {
        try (ScaleQueue lane = ScaleQueue.of(arguments, true)) {
            lane.bringTo(ScaleQueue.records(Long.parseLong(arguments[3])));
            Files.writeString(Path.of(arguments[4]), new PairsRun(lane).measure(Integer.parseInt(arguments[5])));
        }
    }

    /** Bursts that push so many bytes. */
    static int bursts(long bytes) {
        return Math.toIntExact(ScaleQueue.records(bytes) / BURST + 1);
    }

    private String measure(int warmUp) {
        lane.warm((long) (warmUp + BURSTS) * BURST);
        for (int i = 0; i < warmUp; i++) {
            lane.queue.flush();
            burst(0);
        }
        double[] cpu = new double[BURSTS];
        for (int i = 0; i < BURSTS; i++) {
            lane.queue.flush();
            long before = THREADS.getCurrentThreadCpuTime();
            burst(i * GROUPS);
            cpu[i] = (double) (THREADS.getCurrentThreadCpuTime() - before) / BURST;
        }
        return String.format(
                Locale.ROOT,
                "{\"push_ns\": %.2f, \"pop_ns\": %.2f, \"push_mean_ns\": %.2f, "
                        + "\"pop_mean_ns\": %.2f, \"cpu_ns\": %.2f}",
                median(pushes),
                median(pops),
                mean(pushes),
                mean(pops),
                median(cpu));
    }

    // In small groups: to look at the clock for each record would cost as much as to push it.
    private void burst(int at) {
        for (int i = at; i < at + GROUPS; i++) {
            long start = System.nanoTime();
            lane.push(ScaleQueue.ACK_EVERY);
            long pushed = System.nanoTime();
            lane.pop(ScaleQueue.ACK_EVERY);
            pushes[i] = (double) (pushed - start) / ScaleQueue.ACK_EVERY;
            pops[i] = (double) (System.nanoTime() - pushed) / ScaleQueue.ACK_EVERY;
        }
    }

    private static double mean(double[] values) {
        return Arrays.stream(values).average().orElseThrow();
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
