package org.mmapqueue.bench.scale;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.bench.BenchDirectory;

/**
 * Measures what grows with a queue. First a queue is filled and drained, with samples of time and memory. Then pairs of
 * push and pop, opening, and recovery are measured on queues of increasing size; a round measures all of them. Writes one
 * JSON object.
 */
public final class ScaleMain {
    private static final Pattern FIGURE = Pattern.compile("\"(\\w+)\": ([0-9.]+)");
    private static final int WARM_UP_OPENS = 20;
    private static final double MEBI = 1 << 20;
    // Messages of recovery would be timed as well. The field keeps the logger from being collected with its level.
    private static final Logger QUEUES = Logger.getLogger("org.mmapqueue");

    private final ScaleOptions plan;
    private final List<StoredQueue> levels = new ArrayList<>();
    private final List<Series> pairs = new ArrayList<>();
    private final List<Series> opens = new ArrayList<>();
    private final List<Series> recoveries = new ArrayList<>();

    private ScaleMain(ScaleOptions plan, Path directory) {
        this.plan = plan;
        for (long bytes : plan.levels()) {
            levels.add(new StoredQueue(directory, bytes, plan.segment()));
            pairs.add(new Series("\"queued_bytes\": " + bytes));
            opens.add(new Series("\"queued_bytes\": " + bytes));
        }
        for (ScaleOptions.Recovery each : plan.recoveries()) {
            recoveries.add(new Series("\"queued_bytes\": " + each.level() + ", \"tail_bytes\": " + each.tail()));
        }
    }

    /** See {@link ScaleOptions#USAGE}. */
    public static void main(String[] words) throws IOException {
        ScaleOptions plan;
        try {
            plan = ScaleOptions.parse(words);
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + System.lineSeparator() + ScaleOptions.USAGE);
            System.exit(2);
            return;
        }
        QUEUES.setLevel(Level.WARNING);
        // Also when the run is interrupted: the files take gigabytes.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> BenchDirectory.delete(BenchDirectory.root())));
        Path filled = BenchDirectory.create("filled");
        say("filling and draining %,.0f MiB", plan.size() / MEBI);
        String run = new StoredQueue(filled, plan.size(), plan.segment()).fillAndDrain();
        BenchDirectory.delete(filled);
        new ScaleMain(plan, BenchDirectory.create("levels")).measure(run);
    }

    private void measure(String run) throws IOException {
        warmUp();
        for (StoredQueue level : levels) {
            say("filling %,.0f MiB", level.bytes() / MEBI);
            level.fill();
        }
        for (int round = 1; round <= plan.rounds(); round++) {
            for (int turn = 0; turn < levels.size(); turn++) {
                // Alternating order: each size runs after each other size.
                int i = round % 2 == 1 ? turn : levels.size() - 1 - turn;
                say(
                        "round %d of %d: pairs, %,.0f MiB queued",
                        round, plan.rounds(), levels.get(i).bytes() / MEBI);
                Map<String, Double> figures = figures(levels.get(i).pairs());
                Series series = pairs.get(i);
                figures.forEach(series::add);
                series.add("pair_ns", figures.get("push_ns") + figures.get("pop_ns"));
            }
            for (int i = 0; i < levels.size(); i++) {
                opens.get(i).add("open_ms", levels.get(i).open());
            }
            for (int i = 0; i < recoveries.size(); i++) {
                ScaleOptions.Recovery each = plan.recoveries().get(i);
                say(
                        "round %d of %d: recovery, %,.0f MiB queued, %,.0f MiB of them not flushed",
                        round, plan.rounds(), each.level() / MEBI, each.tail() / MEBI);
                recoveries.get(i).add("open_ms", level(each.level()).recover(each.tail()));
            }
        }
        write(run);
        say("%d rounds: %s", plan.rounds(), plan.file());
    }

    // The JIT compiler must have seen all code: class loading is no cost of the queue.
    private void warmUp() throws IOException {
        StoredQueue small =
                new StoredQueue(BenchDirectory.create("warm"), plan.levels().get(0), plan.segment());
        for (int i = 0; i < WARM_UP_OPENS; i++) {
            small.open();
        }
        small.recover(ScaleOptions.WARM_UP_TAIL);
    }

    private StoredQueue level(long bytes) {
        return levels.stream()
                .filter(level -> level.bytes() == bytes)
                .findFirst()
                .orElseThrow();
    }

    private static Map<String, Double> figures(String json) {
        Map<String, Double> figures = new LinkedHashMap<>();
        Matcher matcher = FIGURE.matcher(json);
        while (matcher.find()) {
            figures.put(matcher.group(1), Double.parseDouble(matcher.group(2)));
        }
        return figures;
    }

    private void write(String run) throws IOException {
        Files.createDirectories(plan.results());
        Files.writeString(
                plan.file(),
                "{\"size_bytes\": " + plan.size() + ", \"payload_bytes\": " + ScaleQueue.PAYLOAD
                        + ", \"segment_bytes\": "
                        + plan.segment() + ", \"max_in_mem_segments\": " + ScaleQueue.MAPPED + ", \"jvm_flags\": \""
                        + String.join(" ", StoredQueue.FLAGS) + "\", \"rounds\": " + plan.rounds() + ",\n " + run
                        + ",\n \"pairs\": " + Series.json(pairs) + ",\n \"open\": " + Series.json(opens)
                        + ",\n \"recovery\": " + Series.json(recoveries) + "}\n");
    }

    private static void say(String format, Object... arguments) {
        System.err.printf(Locale.ROOT, format + "%n", arguments);
    }
}
