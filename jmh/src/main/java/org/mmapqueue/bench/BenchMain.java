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
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
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
 * Runs the suite and writes JMH's results as JSON, a file for each round. Each row runs in a JVM of its own. A round runs
 * each row once, so a slow minute of the machine affects all rows; for the same reason a row runs next to its roofline.
 */
public final class BenchMain {
    private static final String HEAP = "-Xmx512m";

    private final BenchOptions options;
    private final Set<Row> measured = new HashSet<>();
    private final long start = System.nanoTime();
    private int runs;

    private BenchMain(BenchOptions options) {
        this.options = options;
    }

    /** See {@link BenchOptions#USAGE}. */
    public static void main(String[] words) throws IOException, RunnerException {
        List<String> rest = new ArrayList<>(Arrays.asList(words));
        boolean list = rest.remove("--list");
        BenchOptions options;
        try {
            options = BenchOptions.parse(rest.toArray(String[]::new));
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + System.lineSeparator() + BenchOptions.USAGE);
            System.exit(2);
            return;
        }
        Set<Row> rows = chosen(options);
        if (list) {
            rows.forEach(System.out::println);
        } else {
            new BenchMain(options).run(rows);
        }
    }

    private static Set<Row> chosen(BenchOptions options) {
        Set<Row> chosen = new LinkedHashSet<>();
        List<Row> all = Suite.of(options.full());
        Set<Row> wanted = new LinkedHashSet<>();
        for (Row row : all) {
            if (options.only().matcher(row.toString()).find()) {
                wanted.add(row);
                if (row.roofline() != null) {
                    wanted.add(row.roofline());
                }
            }
        }
        for (Row row : all) {
            if (wanted.contains(row)) {
                chosen.add(row);
            }
        }
        return chosen;
    }

    private void run(Set<Row> rows) throws IOException, RunnerException {
        List<Row> core = rows.stream().filter(Row::everyRound).toList();
        List<Row> once = rows.stream().filter(row -> !row.everyRound()).toList();
        clear(options.results());
        try {
            // The core first: rows that there is no time for are left out.
            round("round-1", core);
            round("once", once);
            for (int round = 2; round <= options.rounds() && hasTime(); round++) {
                round("round-" + round, core);
            }
        } finally {
            BenchDirectory.delete(BenchDirectory.root());
        }
        System.err.printf(
                "[%3d s] %d of %d rows measured, %d runs: %s%n",
                TimeUnit.NANOSECONDS.toSeconds(spentNanos()), measured.size(), rows.size(), runs, options.results());
    }

    // Files of an earlier run with more rounds would count as rounds of this one.
    private static void clear(Path results) throws IOException {
        Files.createDirectories(results);
        try (DirectoryStream<Path> old = Files.newDirectoryStream(results, "{once,round-*}.json")) {
            for (Path file : old) {
                Files.delete(file);
            }
        }
    }

    private void round(String name, List<Row> rows) throws IOException, RunnerException {
        List<RunResult> raw = new ArrayList<>();
        for (Row row : rows) {
            if (!hasTime()) {
                break;
            }
            System.err.printf("[%3d s] %s, %s%n", spentNanos() / 1_000_000_000, name, row);
            raw.addAll(run(row));
            measured.add(row);
            runs++;
        }
        Path file = options.results().resolve(name + ".json");
        try (PrintStream out = new PrintStream(Files.newOutputStream(file), false, StandardCharsets.UTF_8)) {
            ResultFormatFactory.getInstance(ResultFormatType.JSON, out).writeOut(raw);
        }
    }

    private long spentNanos() {
        return System.nanoTime() - start;
    }

    private boolean hasTime() {
        return runs == 0 || spentNanos() + spentNanos() / runs < TimeUnit.SECONDS.toNanos(options.seconds());
    }

    private static String[] flags(String subject) {
        List<String> flags = new ArrayList<>(JvmFlags.of(subject));
        flags.add(HEAP);
        flags.add(BenchDirectory.quietLogging());
        flags.add("-D" + BenchDirectory.PROPERTY + "=" + BenchDirectory.base());
        return flags.toArray(String[]::new);
    }

    private Collection<RunResult> run(Row row) throws RunnerException {
        ChainedOptionsBuilder builder = new OptionsBuilder()
                .forks(1)
                .warmupIterations(1)
                .warmupTime(TimeValue.milliseconds(options.warmupMillis()))
                .measurementIterations(options.iterations())
                .measurementTime(TimeValue.milliseconds(options.millis()))
                .jvmArgs(flags(row.subject()))
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
        row.select(builder);
        if (options.profiler() != null) {
            builder.addProfiler(options.profiler());
        }
        return new Runner(builder.build()).run();
    }
}
