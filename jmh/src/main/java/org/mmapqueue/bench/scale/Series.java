package org.mmapqueue.bench.scale;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** One row of the results: figures by name, a value for each round. */
final class Series {
    private final String key;
    private final Map<String, List<Double>> values = new LinkedHashMap<>();

    /** Makes a row; {@code key} identifies it, as the members of a JSON object. */
    Series(String key) {
        this.key = key;
    }

    void add(String name, double value) {
        values.computeIfAbsent(name, unused -> new ArrayList<>()).add(value);
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
