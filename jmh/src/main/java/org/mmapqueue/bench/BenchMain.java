package org.mmapqueue.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.bench.peer.JvmFlags;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs the suite and prints one table. Each cell is a JVM of its own. The suite is gone through in rounds, each cell
 * once in each, so that a slow minute of the machine meets all rows and not one; a row stands next to its roofline for
 * the same reason. Figures are medians over all iterations of all rounds.
 */
public final class BenchMain {
    private static final String HEAP = "-Xmx512m";

    private final Arguments arguments;
    private final Map<Cell, Scores> scores = new LinkedHashMap<>();
    private final long start = System.nanoTime();
    private int runs;

    private BenchMain(Arguments arguments) {
        this.arguments = arguments;
    }

    /** See {@link Arguments#USAGE}. */
    public static void main(String[] words) throws IOException, RunnerException {
        List<String> rest = new ArrayList<>(Arrays.asList(words));
        boolean list = rest.remove("--list");
        Arguments arguments;
        try {
            arguments = Arguments.parse(rest.toArray(String[]::new));
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + System.lineSeparator() + Arguments.USAGE);
            System.exit(2);
            return;
        }
        Set<Cell> cells = chosen(arguments);
        if (list) {
            cells.forEach(System.out::println);
        } else {
            new BenchMain(arguments).run(cells);
        }
    }

    private static Set<Cell> chosen(Arguments arguments) {
        Set<Cell> chosen = new LinkedHashSet<>();
        List<Cell> all = Suite.of(arguments.full());
        Set<Cell> wanted = new LinkedHashSet<>();
        for (Cell cell : all) {
            if (arguments.only().matcher(cell.toString()).find()) {
                wanted.add(cell);
                if (cell.roofline() != null) {
                    wanted.add(cell.roofline());
                }
            }
        }
        for (Cell cell : all) {
            if (wanted.contains(cell)) {
                chosen.add(cell);
            }
        }
        return chosen;
    }

    private void run(Set<Cell> cells) throws IOException, RunnerException {
        cells.forEach(cell -> scores.put(cell, new Scores()));
        List<Cell> core = cells.stream().filter(Cell::everyRound).toList();
        List<Cell> once = cells.stream().filter(cell -> !cell.everyRound()).toList();
        clear(arguments.results());
        try {
            // The core first: what there is no time for is left out.
            round("round-1", core);
            round("once", once);
            for (int round = 2; round <= arguments.rounds() && hasTime(); round++) {
                round("round-" + round, core);
            }
        } finally {
            BenchDirectory.delete(BenchDirectory.root());
        }
        print();
    }

    // Rounds of an earlier run, which may have had more of them, would pass for rounds of this one.
    private static void clear(Path results) throws IOException {
        Files.createDirectories(results);
        try (DirectoryStream<Path> old = Files.newDirectoryStream(results, "{once,round-*}.json")) {
            for (Path file : old) {
                Files.delete(file);
            }
        }
    }

    private void round(String name, List<Cell> cells) throws IOException, RunnerException {
        List<RunResult> raw = new ArrayList<>();
        for (Cell cell : cells) {
            if (!hasTime()) {
                break;
            }
            System.err.printf("[%3d s] %s, %s%n", spentNanos() / 1_000_000_000, name, cell);
            Collection<RunResult> results = run(cell);
            raw.addAll(results);
            scores.get(cell).add(results);
            runs++;
        }
        Path file = arguments.results().resolve(name + ".json");
        try (PrintStream out = new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8)) {
            ResultFormatFactory.getInstance(ResultFormatType.JSON, out).writeOut(raw);
        }
    }

    private long spentNanos() {
        return System.nanoTime() - start;
    }

    private boolean hasTime() {
        return runs == 0 || spentNanos() + spentNanos() / runs < TimeUnit.SECONDS.toNanos(arguments.seconds());
    }

    private void print() {
        System.out.printf(
                "JDK %s, %d processors, %s form, %d rows, %d runs of %d x %d ms, %d s in all%n",
                Runtime.version(),
                Runtime.getRuntime().availableProcessors(),
                arguments.full() ? "full" : "short",
                scores.size(),
                runs,
                arguments.iterations(),
                arguments.millis(),
                TimeUnit.NANOSECONDS.toSeconds(spentNanos()));
        System.out.print(Table.of(scores));
        long left = scores.values().stream().filter(Scores::isEmpty).count();
        if (left > 0) {
            System.out.printf("%nThere was no time for %d rows.%n", left);
        }
        System.out.printf(
                "%nMedians; roofline = share of the roofline row of the same payload, ring and course.%n"
                        + "Raw results: %s%n",
                arguments.results());
    }

    private static String[] flags(String contender) {
        List<String> flags = new ArrayList<>(JvmFlags.of(contender));
        flags.add(HEAP);
        flags.add(BenchDirectory.quietLogging());
        flags.add("-D" + BenchDirectory.PROPERTY + "=" + BenchDirectory.base());
        return flags.toArray(String[]::new);
    }

    private Collection<RunResult> run(Cell cell) throws RunnerException {
        ChainedOptionsBuilder options = new OptionsBuilder()
                .forks(1)
                .warmupIterations(1)
                .warmupTime(TimeValue.milliseconds(arguments.warmupMillis()))
                .measurementIterations(arguments.iterations())
                .measurementTime(TimeValue.milliseconds(arguments.millis()))
                .jvmArgs(flags(cell.contender()))
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
        cell.select(options);
        if (arguments.profiler() != null) {
            options.addProfiler(arguments.profiler());
        }
        return new Runner(options.build()).run();
    }
}
