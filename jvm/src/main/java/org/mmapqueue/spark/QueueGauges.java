package org.mmapqueue.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueListener;
import org.mmapqueue.QueueStats;

/**
 * Gauges for each queue, from open to close in this process. Thread-safe.
 *
 * <p>A queue in {@code /data/events} has gauges {@code events.records}, {@code events.lag} and so on; a second queue of
 * that name gets a numbered prefix; a partition {@code /data/events/p=0} has {@code events.p0.records}. {@code
 * openQueues} always exists, because Spark ignores a registry that is empty when the plugin starts.
 */
final class QueueGauges implements QueueListener, AutoCloseable {
    private static final String OPEN_QUEUES = "openQueues";
    private static final long NONE = 0;

    private final MetricRegistry registry;
    private final Map<Path, String> names = new HashMap<>();

    /**
     * Registers gauges.
     *
     * @param registry receives gauges at each open, and loses them at each close
     */
    QueueGauges(MetricRegistry registry) {
        this.registry = registry;
        registry.register(OPEN_QUEUES, (Gauge<Integer>) this::count);
        MmapQueue.addListener(this);
    }

    private synchronized int count() {
        return names.size();
    }

    @Override
    public synchronized void opened(Path directory, Figures figures) {
        if (names.containsKey(directory)) {
            return; // open for reading and writing: the same figures
        }
        String name = freeName(directory);
        names.put(directory, name);
        stat(name, "firstOffset", figures, QueueStats::firstOffset);
        stat(name, "endOffset", figures, QueueStats::endOffset);
        stat(name, "records", figures, stats -> stats.endOffset() - stats.firstOffset());
        stat(name, "segmentsInUse", figures, QueueStats::segmentsInUse);
        stat(name, "capacitySegments", figures, QueueStats::capacitySegments);
        stat(name, "mappedBytes", figures, QueueStats::mappedBytes);
        stat(name, "unflushedBytes", figures, stats -> stats.writingPosition() - stats.watermarkPosition());
        register(
                name,
                "consumers",
                () -> figures.consumerStats().map(all -> (long) all.size()).orElse(NONE));
        register(
                name,
                "lag",
                () -> figures.consumerStats().map(QueueGauges::greatestLag).orElse(NONE));
    }

    private static long greatestLag(List<ConsumerStats> consumers) {
        return consumers.stream().mapToLong(ConsumerStats::lagRecords).max().orElse(NONE);
    }

    private void stat(String name, String figure, Figures figures, ToLongFunction<QueueStats> value) {
        register(name, figure, () -> {
            Optional<QueueStats> stats = figures.stats();
            return stats.isPresent() ? value.applyAsLong(stats.get()) : NONE;
        });
    }

    private void register(String name, String figure, Gauge<Long> gauge) {
        registry.register(MetricRegistry.name(name, figure), gauge);
    }

    private String freeName(Path directory) {
        Path last = directory.getFileName();
        Path parent = directory.getParent();
        String plain = last == null ? "root" : last.toString();
        if (plain.startsWith("p=") && parent != null && parent.getFileName() != null) {
            plain = parent.getFileName() + ".p" + plain.substring(2);
        }
        plain = plain.replaceAll("[^A-Za-z0-9_.-]", "_");
        String name = plain;
        for (int i = 2; names.containsValue(name); i++) {
            name = plain + "-" + i;
        }
        return name;
    }

    @Override
    public synchronized void closed(Path directory) {
        String name = names.remove(directory);
        if (name != null) {
            registry.removeMatching((metric, value) -> metric.startsWith(name + "."));
        }
    }

    @Override
    public void close() {
        MmapQueue.removeListener(this);
    }
}
