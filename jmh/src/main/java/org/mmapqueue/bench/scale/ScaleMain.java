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
 * Shows what grows with a queue and what does not: a queue is filled and emptied, with samples of time and memory; then
 * pairs of push and pop, opening, and recovery are measured on queues that hold more and more, in rounds that go through
 * all of them. Prints a summary and writes one JSON object.
 */
public final class ScaleMain {
    private static final Pattern FIGURE = Pattern.compile("\"(\\w+)\": ([0-9.]+)");
    private static final int WARM_UP_OPENS = 20;
    private static final double MEBI = 1 << 20;
    // What recovery tells at each open would be timed with it. The logger is kept here, as its level is with it.
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
        // However it ends: nobody wants to find so many gigabytes later.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> BenchDirectory.delete(BenchDirectory.root())));
        Path filled = BenchDirectory.create("filled");
        say("filling and emptying %,.0f MiB", plan.size() / MEBI);
        String run = new StoredQueue(filled, plan.size(), plan.segment()).fillAndDrain();
        BenchDirectory.delete(filled);
        new ScaleMain(plan, BenchDirectory.create("levels")).measure(run);
    }

    private void measure(String run) throws IOException {
        warmUp();
        for (StoredQueue level : levels) {
            say("preparing %,.0f MiB", level.bytes() / MEBI);
            level.prepare();
        }
        for (int round = 1; round <= plan.rounds(); round++) {
            for (int turn = 0; turn < levels.size(); turn++) {
                // There and back: what the run before leaves behind, it leaves to each of them.
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
        print();
    }

    // The compiler must have seen it all: how long a new JVM takes to load classes does not depend on the queue.
    private void warmUp() throws IOException {
        StoredQueue small = new StoredQueue(BenchDirectory.create("warm"), plan.levels().get(0), plan.segment());
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
                "{\"machine\": {\"jdk\": \"" + Runtime.version() + "\", \"processors\": "
                        + Runtime.getRuntime().availableProcessors() + ", \"memory_bytes\": " + Proc.memory("MemTotal")
                        + "},\n"
                        + " \"size_bytes\": " + plan.size() + ", \"payload_bytes\": " + ScaleQueue.PAYLOAD
                        + ", \"segment_bytes\": "
                        + plan.segment() + ", \"max_in_mem_segments\": " + ScaleQueue.MAPPED + ", \"jvm_flags\": \""
                        + String.join(" ", StoredQueue.FLAGS) + "\", \"rounds\": " + plan.rounds() + ",\n " + run
                        + ",\n \"pairs\": " + Series.json(pairs) + ",\n \"open\": " + Series.json(opens)
                        + ",\n \"recovery\": " + Series.json(recoveries) + "}\n");
    }

    private void print() {
        System.out.printf("%-48s %10s %10s%n", "", "median", "min .. max");
        for (int i = 0; i < levels.size(); i++) {
            String queued =
                    String.format(Locale.ROOT, "%,.0f MiB queued", levels.get(i).bytes() / MEBI);
            print("push, " + queued + ", ns", pairs.get(i), "push_ns");
            print("pop, " + queued + ", ns", pairs.get(i), "pop_ns");
            print("push + pop, " + queued + ", ns", pairs.get(i), "pair_ns");
        }
        for (int i = 0; i < levels.size(); i++) {
            print(
                    String.format(
                            Locale.ROOT,
                            "open, %,.0f MiB queued, ms",
                            levels.get(i).bytes() / MEBI),
                    opens.get(i),
                    "open_ms");
        }
        for (int i = 0; i < recoveries.size(); i++) {
            ScaleOptions.Recovery each = plan.recoveries().get(i);
            print(
                    String.format(
                            Locale.ROOT, "recovery, %,.0f + %,.0f MiB, ms", each.level() / MEBI, each.tail() / MEBI),
                    recoveries.get(i),
                    "open_ms");
        }
        System.out.printf(
                "%nMedians of %d rounds; 1 KiB records; samples of the filling and emptying are in %s%n",
                plan.rounds(), plan.file());
    }

    private static void print(String label, Series series, String name) {
        System.out.printf("%-48s %s%n", label, series.summary(name));
    }

    private static void say(String format, Object... arguments) {
        System.err.printf(Locale.ROOT, format + "%n", arguments);
    }
}
