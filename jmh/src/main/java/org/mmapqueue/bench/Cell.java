package org.mmapqueue.bench;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * One row of the table: a benchmark with its parameters, and the row that it is compared with.
 *
 * @param section the heading it stands under
 * @param label what the row says
 * @param benchmark class and method, without the package
 * @param contender who runs
 * @param shape the sizes
 * @param extra further parameters
 * @param roofline the cell whose figure is 100 %, or null
 * @param everyRound whether it belongs to the core, which runs in each round; the others run once
 */
record Cell(
        String section,
        String label,
        String benchmark,
        String contender,
        Shape shape,
        Map<String, String> extra,
        Cell roofline,
        boolean everyRound) {
    private static final List<String> PER_CALL = List.of("SyncBenchmark.", "GetBenchmark.", "OpenBenchmark.");

    /** The parameters as JMH wants them. */
    Map<String, String> parameters() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("contender", contender);
        all.put("payload", Integer.toString(shape.payload()));
        all.put("segment", Integer.toString(shape.segmentBytes()));
        all.put("capacity", Integer.toString(shape.capacity()));
        all.put("mapped", Integer.toString(shape.mapped()));
        all.put("ceiling", Integer.toString(shape.ceiling()));
        all.put("timestamps", Boolean.toString(shape.timestamps()));
        all.putAll(extra);
        return all;
    }

    /** Whether calls are looked at one by one, and not the bytes that they move. */
    boolean perCall() {
        return PER_CALL.stream().anyMatch(benchmark::startsWith);
    }

    void select(ChainedOptionsBuilder options) {
        options.include("^" + Pattern.quote(Cell.class.getPackageName() + "." + benchmark) + "$");
        parameters().forEach((name, value) -> options.param(name, value));
    }

    @Override
    public String toString() {
        return section + ": " + label + ", " + Units.bytes(shape.payload());
    }
}
