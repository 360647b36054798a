package org.mmapqueue.spark.events.payload;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.spark.events.rows.PointRow;
import org.mmapqueue.spark.events.wire.JsonBuffer;
import org.mmapqueue.spark.events.wire.JsonEntries;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Scratch;

/**
 * Metrics in Prometheus' text format or in OpenMetrics as data points, by the names and kinds that OpenTelemetry's
 * specification maps them to.
 *
 * <p>A counter is a cumulative sum, a gauge and anything without a known type a gauge. The samples of a histogram or
 * summary with the same labels are one data point. Exemplars are checked and left out. Not thread-safe.
 */
final class Exposition {
    private static final UTF8String CUMULATIVE = UTF8String.fromString("cumulative");
    private static final String BUCKET = "le";
    private static final String QUANTILE = "quantile";
    private static final double MILLIS = 1e3;
    private static final double SECONDS = 1e6;

    private final List<Object[]> rows;
    private final boolean openMetrics;
    private final Map<String, Family> families = new HashMap<>();
    /** The data points of histograms and summaries that samples may still belong to. */
    private final Map<List<String>, Distribution> open = new HashMap<>();

    private final List<Distribution> distributions = new ArrayList<>();
    /** Rows of counters by name and labels, and the times at which counters were made. */
    private final Map<List<String>, Object[]> counters = new HashMap<>();

    private final Map<List<String>, Object> made = new LinkedHashMap<>();
    private final JsonBuffer json = Scratch.get().attributes;

    Exposition(List<Object[]> rows, boolean openMetrics) {
        this.rows = rows;
        this.openMetrics = openMetrics;
    }

    void read(byte[] data) throws MalformedException {
        String text = new String(data, UTF_8);
        List<String> samples = new ArrayList<>();
        int lines = 0;
        boolean ended = false;
        for (int at = 0; at < text.length(); lines++) {
            int end = text.indexOf('\n', at);
            String line = text.substring(at, end < 0 ? text.length() : end);
            at = end < 0 ? text.length() : end + 1;
            if (ended) {
                throw new MalformedException("line " + (lines + 1) + " after # EOF", 0);
            }
            ended = openMetrics && line.equals("# EOF");
            line = openMetrics ? line : line.strip();
            if (line.startsWith("#")) {
                metadata(line);
                samples.add(null);
            } else if (line.isEmpty() && !openMetrics) {
                samples.add(null);
            } else {
                samples.add(line);
            }
        }
        if (openMetrics && !ended) {
            throw new MalformedException("OpenMetrics without # EOF at its end", data.length);
        }
        for (int i = 0; i < samples.size(); i++) {
            if (samples.get(i) != null) {
                sample(new SampleLine(samples.get(i), i + 1, openMetrics));
            }
        }
        finish();
    }

    private void metadata(String line) {
        String[] words = line.split("[ \t]+", 4);
        if (words.length < 3) {
            return;
        }
        Family family = families.computeIfAbsent(words[2], name -> new Family());
        String rest = words.length == 4 ? words[3] : "";
        switch (words[1]) {
            case "TYPE" -> family.type = rest.strip();
            case "HELP" -> family.help = SampleLine.unescaped(rest);
            case "UNIT" -> family.unit = rest.strip();
            default -> {
                // A comment.
            }
        }
    }

    private void sample(SampleLine line) {
        String name = line.name;
        Family exact = families.get(name);
        if (exact != null && exact.isDistribution()) {
            // A quantile of a summary has the family's name.
            if (exact.type.equals("summary")) {
                distribution(name, exact, "", line);
            } else {
                simple(name, null, line);
            }
            return;
        }
        int underscore = name.lastIndexOf('_');
        String suffix = underscore < 0 ? "" : name.substring(underscore);
        String base = underscore < 0 ? name : name.substring(0, underscore);
        Family family = families.get(base);
        if (exact == null && family != null && family.has(suffix)) {
            if (family.isDistribution()) {
                distribution(base, family, suffix, line);
            } else if (suffix.equals("_created")) {
                made.put(key(base, line.labels, null), line);
            } else {
                simple(base, family, line);
            }
            return;
        }
        simple(name, exact, line);
    }

    private void simple(String base, Family family, SampleLine line) {
        Object[] row = row(line.name, family, line);
        boolean counter = family != null && family.type.equals("counter");
        row[PointRow.KIND] = counter ? PointRow.SUM_KIND : PointRow.GAUGE;
        row[PointRow.TEMPORALITY] = counter ? CUMULATIVE : null;
        row[PointRow.MONOTONIC] = counter ? true : null;
        row[PointRow.VALUE] = line.value;
        row[PointRow.ATTRIBUTES] = labels(line.labels, null);
        rows.add(row);
        if (counter) {
            counters.put(key(base, line.labels, null), row);
        }
    }

    private Object[] row(String name, Family family, SampleLine line) {
        Object[] row = new Object[PointRow.COLUMNS];
        row[PointRow.NAME] = UTF8String.fromString(name);
        if (family != null) {
            row[PointRow.DESCRIPTION] = text(family.help);
            row[PointRow.UNIT] = text(family.unit);
        }
        row[PointRow.TIME] = micros(line.time);
        return row;
    }

    private static UTF8String text(String text) {
        return text == null || text.isEmpty() ? null : UTF8String.fromString(text);
    }

    private void distribution(String base, Family family, String suffix, SampleLine line) {
        String own = family.type.equals("summary") ? QUANTILE : BUCKET;
        List<String> key = key(base, line.labels, own);
        Distribution found = open.get(key);
        if (found == null || !found.accepts(suffix, own, line)) {
            // A family that comes again has further data points.
            found = new Distribution(row(base, family, line), family.type);
            found.row[PointRow.ATTRIBUTES] = labels(line.labels, own);
            open.put(key, found);
            distributions.add(found);
            rows.add(found.row);
        }
        found.add(suffix, own, line);
    }

    private void finish() {
        distributions.forEach(each -> each.finish(json));
        made.forEach((key, line) -> {
            Object[] row = counters.get(key);
            if (row != null) {
                row[PointRow.START] = micros(((SampleLine) line).value * SECONDS);
            } else {
                simple("", null, (SampleLine) line);
            }
        });
    }

    private static List<String> key(String name, List<String> labels, String without) {
        Map<String, String> sorted = new TreeMap<>();
        for (int i = 0; i < labels.size(); i += 2) {
            if (!labels.get(i).equals(without)) {
                sorted.put(labels.get(i), labels.get(i + 1));
            }
        }
        List<String> key = new ArrayList<>(List.of(name));
        sorted.forEach((label, value) -> {
            key.add(label);
            key.add(value);
        });
        return key;
    }

    private UTF8String labels(List<String> labels, String without) {
        for (int i = 0; i < labels.size(); i += 2) {
            if (!labels.get(i).equals(without)) {
                json.openOnce('{');
                json.key(labels.get(i)).string(labels.get(i + 1));
            }
        }
        return JsonEntries.taken(json, '}');
    }

    // The time of a line as Spark's µs; null for none, and for one that is out of range.
    private Object micros(Double time) {
        if (time == null) {
            return null;
        }
        double micros = Math.rint(time * (openMetrics ? SECONDS : MILLIS));
        return range(micros);
    }

    private static Object micros(double micros) {
        return range(Math.rint(micros));
    }

    private static Object range(double micros) {
        return Math.abs(micros) < Long.MAX_VALUE ? (Object) (long) micros : null;
    }

    /** What comments say of a name. */
    private static final class Family {
        private String type = "";
        private String help;
        private String unit;

        private boolean isDistribution() {
            return switch (type) {
                case "histogram", "gaugehistogram", "summary" -> true;
                default -> false;
            };
        }

        /** Whether a sample of this family may have the suffix. */
        private boolean has(String suffix) {
            return switch (type) {
                case "histogram" -> suffix.equals("_bucket") || isSum(suffix) || suffix.equals("_created");
                case "gaugehistogram" -> suffix.equals("_bucket") || suffix.equals("_gsum") || suffix.equals("_gcount");
                case "summary" -> isSum(suffix) || suffix.equals("_created");
                case "counter" -> suffix.equals("_total") || suffix.equals("_created");
                case "info" -> suffix.equals("_info");
                default -> false;
            };
        }

        private static boolean isSum(String suffix) {
            return suffix.equals("_sum") || suffix.equals("_count");
        }
    }

    /** The samples of one data point of a histogram or summary. */
    private static final class Distribution {
        private final Object[] row;
        private final boolean summary;
        /** Counts up to bounds, or values of quantiles. */
        private final Map<Double, Double> parts = new TreeMap<>();

        private Double time;

        private Distribution(Object[] row, String type) {
            this.row = row;
            summary = type.equals("summary");
            row[PointRow.KIND] = summary ? PointRow.SUMMARY : PointRow.HISTOGRAM;
            row[PointRow.TEMPORALITY] = type.equals("histogram") ? CUMULATIVE : null;
        }

        // Whether the sample is of this data point: of the same time, and not there yet.
        private boolean accepts(String suffix, String own, SampleLine line) {
            if (!java.util.Objects.equals(time, line.time)) {
                return false;
            }
            return switch (suffix) {
                case "_sum", "_gsum" -> row[PointRow.SUM] == null;
                case "_count", "_gcount" -> row[PointRow.COUNT] == null;
                case "_created" -> row[PointRow.START] == null;
                default -> line.number(own) == null || !parts.containsKey(line.number(own));
            };
        }

        private void add(String suffix, String own, SampleLine line) {
            time = line.time;
            switch (suffix) {
                case "_sum", "_gsum" -> row[PointRow.SUM] = line.value;
                case "_count", "_gcount" -> row[PointRow.COUNT] = (long) line.value;
                case "_created" -> row[PointRow.START] = micros(line.value * SECONDS);
                default -> {
                    if (line.number(own) != null) {
                        parts.put(line.number(own), line.value);
                    }
                }
            }
        }

        private void finish(JsonBuffer out) {
            if (parts.isEmpty()) {
                return;
            }
            if (summary) {
                quantiles(out);
            } else {
                buckets(out);
            }
            row[PointRow.BUCKETS] = out.take();
        }

        private void quantiles(JsonBuffer out) {
            out.open('{').key("quantiles").open('[');
            parts.forEach((quantile, value) -> out.open('{')
                    .key("quantile")
                    .number(quantile)
                    .key("value")
                    .number(value)
                    .close('}'));
            out.close(']').close('}');
        }

        // Prometheus counts all values up to a bound, OpenTelemetry those between two bounds.
        private void buckets(JsonBuffer out) {
            out.open('{').key("bounds").open('[');
            parts.keySet().stream().filter(Double::isFinite).forEach(out::number);
            out.close(']').key("counts").open('[');
            double before = 0;
            for (Map.Entry<Double, Double> part : parts.entrySet()) {
                out.plainNumber(part.getValue() - before);
                before = part.getValue();
            }
            if (!parts.containsKey(Double.POSITIVE_INFINITY)) {
                Object count = row[PointRow.COUNT];
                out.plainNumber(count == null ? 0 : (long) count - before);
            } else if (row[PointRow.COUNT] == null) {
                row[PointRow.COUNT] = (long) before;
            }
            out.close(']').close('}');
        }
    }
}
