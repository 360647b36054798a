package org.mmapqueue.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueListener;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.metrics.Sample;

/**
 * Gauges for each queue that is open in this process. Thread-safe.
 *
 * <p>A queue in {@code /data/events} has gauges {@code events.retained_records}, {@code events.lag_records} and so on,
 * by the names of {@link Metric}. A metric of consumers has one gauge for all of them together. A second queue with the
 * same directory name gets a numbered prefix; a partition {@code /data/events/p=0} has {@code
 * events.p0.retained_records}. {@code open_queues} always exists, because Spark ignores a registry that is empty when
 * the plugin starts.
 */
final class QueueGauges implements QueueListener, AutoCloseable {
    private static final String OPEN_QUEUES = "open_queues";

    private final MetricRegistry registry;
    private final Map<Figures, String> names = new HashMap<>();

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
        String name = freeName(directory);
        names.put(figures, name);
        boolean isWriter = figures.metrics().stream()
                .flatMap(List::stream)
                .anyMatch(each -> each.metric().isWritersAlone());
        for (Metric metric : Metric.values()) {
            if (metric.isWritersAlone() && !isWriter) {
                continue;
            }
            boolean isHistogram = metric.kind() == Metric.Kind.HISTOGRAM;
            for (String suffix : isHistogram ? List.of("_sum", "_count") : List.of("")) {
                Gauge<Number> gauge = () -> value(figures, metric, suffix);
                registry.register(MetricRegistry.name(name, metric.shortName() + suffix), gauge);
            }
        }
    }

    // 0 if this process owns no consumer, or the queue has none.
    private static Number value(Figures figures, Metric metric, String suffix) {
        List<Sample> samples = figures.metrics().orElse(List.of());
        double value = metric.together(samples.stream()
                .filter(each -> each.metric() == metric && each.suffix().equals(suffix))
                .mapToDouble(Sample::value));
        return new Sample(metric, suffix, "", "", value).number();
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
    public synchronized void closed(Path directory, Figures figures) {
        String name = names.remove(figures);
        if (name != null) {
            // With the separator, so that a queue events does not lose the gauges of events.p0.
            registry.removeMatching(
                    (metric, value) -> metric.startsWith(name) && metric.lastIndexOf('.') == name.length());
        }
    }

    @Override
    public void close() {
        MmapQueue.removeListener(this);
    }
}
