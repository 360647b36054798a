package org.mmapqueue.metrics;

import java.nio.file.Path;
import java.util.List;

/** Formats metrics in the text format of Prometheus, version 0.0.4. */
public final class PrometheusText {
    private PrometheusText() {}

    /**
     * Writes the metrics of a queue, each with its help and type.
     *
     * @param directory the queue's directory, which becomes the label {@code queue}
     * @param samples the queue's metrics
     * @return lines that end with a line feed
     */
    public static String of(Path directory, List<Sample> samples) {
        String queue = "queue=" + quoted(directory.toAbsolutePath().toString());
        StringBuilder text = new StringBuilder();
        for (Metric metric : Metric.values()) {
            boolean isFirst = true;
            for (Sample sample : samples) {
                if (sample.metric() == metric) {
                    if (isFirst) {
                        head(metric, text);
                    }
                    isFirst = false;
                    line(sample, queue, text);
                }
            }
        }
        return text.toString();
    }

    private static void head(Metric metric, StringBuilder text) {
        String name = metric.fullName();
        text.append("# HELP ").append(name).append(' ').append(metric.help()).append('\n');
        text.append("# TYPE ").append(name).append(' ');
        text.append(
                switch (metric.kind()) {
                    case COUNTER -> "counter";
                    case GAUGE -> "gauge";
                    case HISTOGRAM -> "histogram";
                });
        text.append('\n');
    }

    private static void line(Sample sample, String queue, StringBuilder text) {
        text.append(sample.metric().fullName()).append(sample.suffix());
        text.append('{').append(queue);
        if (!sample.label().isEmpty()) {
            text.append(',').append(sample.label()).append('=').append(quoted(sample.labelValue()));
        }
        text.append("} ").append(sample.number()).append('\n');
    }

    private static String quoted(String value) {
        return '"' + value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }
}
