package org.mmapqueue.bench.scale;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Times work of one thread, and samples the memory of the process after each part. */
final class Sampler {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final ScaleQueue queue;
    private final long start = System.nanoTime();
    private final List<String> samples = new ArrayList<>();

    Sampler(ScaleQueue queue) {
        this.queue = queue;
    }

    /** Runs work that moves {@code records}, then takes a sample, untimed. */
    void time(String phase, long records, Runnable work) {
        long cpuBefore = THREADS.getCurrentThreadCpuTime();
        long before = System.nanoTime();
        work.run();
        long nanos = System.nanoTime() - before;
        long cpu = THREADS.getCurrentThreadCpuTime() - cpuBefore;
        long rss = Proc.status("VmRSS");
        long anonymous = Proc.status("RssAnon");
        long file = Proc.status("RssFile");
        long used = heap();
        // Live objects alone.
        System.gc();
        samples.add(String.format(
                Locale.ROOT,
                "{\"phase\": \"%s\", \"seconds\": %.3f, \"queued_bytes\": %d, \"ns_per_record\": %.1f,"
                        + " \"cpu_ns_per_record\": %.1f, \"rss_bytes\": %d, \"rss_anon_bytes\": %d, \"rss_file_bytes\":"
                        + " %d, \"heap_used_bytes\": %d, \"heap_live_bytes\": %d, \"mapped_bytes\": %d,"
                        + " \"page_cache_bytes\": %d, \"dirty_bytes\": %d, \"disk_read_bytes\": %d}",
                phase,
                (System.nanoTime() - start) / 1e9,
                queue.queued() * ScaleQueue.PAYLOAD,
                (double) nanos / records,
                (double) cpu / records,
                rss,
                anonymous,
                file,
                used,
                heap(),
                queue.opened.stats().mappedBytes(),
                Proc.memory("Cached"),
                Proc.memory("Dirty"),
                Proc.io("read_bytes")));
    }

    private static long heap() {
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** A JSON array of all samples. */
    String json() {
        return "[\n  " + String.join(",\n  ", samples) + "\n ]";
    }
}
