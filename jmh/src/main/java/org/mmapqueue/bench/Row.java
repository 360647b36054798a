package org.mmapqueue.bench;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * One row of the suite: a benchmark with its parameters.
 *
 * @param section the heading of the row
 * @param label the row's name
 * @param benchmark class and method, without the package
 * @param subject a name from {@link Subjects}
 * @param shape the sizes
 * @param extra further parameters
 * @param roofline the row with the figure of 100 %, or null
 * @param everyRound whether the row runs in each round, and not once
 */
record Row(
        String section,
        String label,
        String benchmark,
        String subject,
        Shape shape,
        Map<String, String> extra,
        Row roofline,
        boolean everyRound) {
    private static final int KIB = 1024;

    private Map<String, String> parameters() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("subject", subject);
        all.put("payload", Integer.toString(shape.payload()));
        all.put("segment", Integer.toString(shape.segmentBytes()));
        all.put("capacity", Integer.toString(shape.capacity()));
        all.put("mapped", Integer.toString(shape.mapped()));
        all.put("ceiling", Integer.toString(shape.ceiling()));
        all.put("timestamps", Boolean.toString(shape.timestamps()));
        all.putAll(extra);
        return all;
    }

    void select(ChainedOptionsBuilder options) {
        options.include("^" + Pattern.quote(Row.class.getPackageName() + "." + benchmark) + "$");
        parameters().forEach((name, value) -> options.param(name, value));
        if (benchmark.startsWith("PipeBenchmark.")) {
            options.threadGroups(threads("consumers"), threads("producers"));
        } else {
            options.threads(threads("threads"));
        }
    }

    private int threads(String name) {
        return Integer.parseInt(extra.getOrDefault(name, "1"));
    }

    @Override
    public String toString() {
        int payload = shape.payload();
        return section + ": " + label + ", " + (payload % KIB == 0 ? payload / KIB + " KiB" : payload + " B");
    }
}
