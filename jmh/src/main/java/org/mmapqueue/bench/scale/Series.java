package org.mmapqueue.bench.scale;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Named figures, one for each round, of one row of the results. */
final class Series {
    private final String key;
    private final Map<String, List<Double>> values = new LinkedHashMap<>();

    /** A row; {@code key} is what tells it from the others, as the members of a JSON object. */
    Series(String key) {
        this.key = key;
    }

    void add(String name, double value) {
        values.computeIfAbsent(name, unused -> new ArrayList<>()).add(value);
    }

    double median(String name) {
        List<Double> sorted = new ArrayList<>(values.get(name));
        sorted.sort(null);
        return sorted.get(sorted.size() / 2);
    }

    /** Median, least and greatest, as people read them. */
    String summary(String name) {
        List<Double> all = values.get(name);
        return String.format(
                Locale.ROOT,
                "%10.1f %10.1f .. %.1f",
                median(name),
                all.stream().min(Double::compare).orElseThrow(),
                all.stream().max(Double::compare).orElseThrow());
    }

    String json() {
        StringBuilder text = new StringBuilder("{").append(key);
        values.forEach((name, all) -> text.append(", \"")
                .append(name)
                .append("\": ")
                .append(all.stream()
                        .map(value -> String.format(Locale.ROOT, "%.3f", value))
                        .toList()));
        return text.append('}').toString();
    }

    static String json(List<Series> rows) {
        return "[\n  " + String.join(",\n  ", rows.stream().map(Series::json).toList()) + "\n ]";
    }
}
