package org.mmapqueue.bench.scale;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * Measures a push and a pop at a given queue size, in a JVM of its own. Bursts are short, a flush between them is untimed,
 * and the popped records are in the page cache, so the disk has little influence.
 */
final class PairsRun {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final int BURST = 32 << 10;
    /** Unmeasured bursts for the JIT compiler. */
    static final int WARM_UP = 6;

    private static final int BURSTS = 10;
    private static final int GROUPS = BURST / ScaleQueue.ACK_EVERY;

    private final ScaleQueue queue;
    private final double[] pushes = new double[BURSTS * GROUPS];
    private final double[] pops = new double[BURSTS * GROUPS];

    private PairsRun(ScaleQueue queue) {
        this.queue = queue;
    }

    /**
     * Fills the queue to its size, then measures.
     *
     * @param arguments those of {@link ScaleQueue}; payload bytes to queue; the file for the result, one JSON object;
     *     unmeasured bursts
     */
    public static void main(String[] arguments) throws IOException {
        try (ScaleQueue queue = ScaleQueue.of(arguments, true)) {
            queue.resizeTo(ScaleQueue.records(Long.parseLong(arguments[3])));
            Files.writeString(Path.of(arguments[4]), new PairsRun(queue).measure(Integer.parseInt(arguments[5])));
        }
    }

    /** Returns the number of bursts that push {@code bytes}. */
    static int bursts(long bytes) {
        return Math.toIntExact(ScaleQueue.records(bytes) / BURST + 1);
    }

    private String measure(int warmUp) {
        queue.warm((long) (warmUp + BURSTS) * BURST);
        for (int i = 0; i < warmUp; i++) {
            queue.opened.flush();
            burst(0);
        }
        double[] cpu = new double[BURSTS];
        for (int i = 0; i < BURSTS; i++) {
            queue.opened.flush();
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

    // In small groups: reading the clock costs as much as a push.
    private void burst(int at) {
        for (int i = at; i < at + GROUPS; i++) {
            long start = System.nanoTime();
            queue.push(ScaleQueue.ACK_EVERY);
            long pushed = System.nanoTime();
            queue.pop(ScaleQueue.ACK_EVERY);
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
