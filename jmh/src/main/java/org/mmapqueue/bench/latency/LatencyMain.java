package org.mmapqueue.bench.latency;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.bench.BenchChild;
import org.mmapqueue.bench.BenchDirectory;
import org.mmapqueue.bench.peer.BigQueue;
import org.mmapqueue.bench.peer.JvmFlags;

/**
 * The latency of a push at 10 000, 100 000 and a million a second, for the queue, the roofline and the peers, in
 * rounds: each subject once in each. Prints a table of the medians over the rounds and writes all of it as JSON.
 */
public final class LatencyMain {
    private static final int[] RATES = {10_000, 100_000, 1_000_000};
    private static final int PAYLOAD = 1024;
    private static final String SMALL = "131072";
    private static final String LARGE = "67108864";
    private static final String[] FIELDS = {"p50", "p90", "p99", "p99.9", "p99.99", "max"};
    private static final String ROW = "%-28s %9s %9s %9s %9s %9s %9s%n";
    private static final String USAGE = "LatencyMain [--rounds N] [--seconds N] [--only REGEX] [--results DIR]";

    private int rounds = 5;
    private int seconds = 10;
    private Pattern only = Pattern.compile("");
    private Path results = Path.of("build", "bench", "latency");

    private record Line(String name, String subject, String segment, String segments, int rate) {
        private String title() {
            return name + " at " + rate;
        }
    }

    private LatencyMain() {}

    /** Runs what the arguments choose: by default five rounds of ten seconds each. */
    public static void main(String[] words) throws IOException {
        LatencyMain main = new LatencyMain();
        try {
            main.parse(words);
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage() + System.lineSeparator() + USAGE);
            System.exit(2);
        }
        main.run();
    }

    private void parse(String... words) {
        if (words.length % 2 == 1) {
            throw new IllegalArgumentException("each argument wants a value: " + words[words.length - 1]);
        }
        for (int i = 0; i < words.length; i += 2) {
            switch (words[i]) {
                case "--rounds" -> rounds = positive(words[i], words[i + 1]);
                case "--seconds" -> seconds = positive(words[i], words[i + 1]);
                case "--only" -> only = Pattern.compile(words[i + 1]);
                case "--results" -> results = Path.of(words[i + 1]);
                default -> throw new IllegalArgumentException("unknown argument " + words[i]);
            }
        }
    }

    private static int positive(String name, String text) {
        int value = Integer.parseInt(text);
        if (value < 1) {
            throw new IllegalArgumentException(name + " " + text + ": expected a number from 1");
        }
        return value;
    }

    private List<Line> lines() {
        List<Line> lines = new ArrayList<>();
        for (int rate : RATES) {
            lines.add(new Line("roofline, 64 MiB", "ring+flush", LARGE, "16", rate));
            lines.add(new Line("queue, 64 MiB", "queue", LARGE, "16", rate));
            lines.add(new Line("roofline, 128 KiB", "ring+flush", SMALL, "4000", rate));
            lines.add(new Line("queue, 128 KiB", "queue", SMALL, "4000", rate));
            lines.add(new Line("Chronicle Queue", "chronicle", LARGE, "16", rate));
            if (BigQueue.isGiven()) {
                lines.add(new Line("bigqueue", "bigqueue", LARGE, "16", rate));
            }
            lines.add(new Line("RocksDB", "rocksdb", LARGE, "16", rate));
        }
        return lines.stream().filter(line -> only.matcher(line.title()).find()).toList();
    }

    private void run() throws IOException {
        List<Line> lines = lines();
        Files.createDirectories(results);
        List<String> all = new ArrayList<>();
        List<List<String>> perLine = new ArrayList<>();
        lines.forEach(line -> perLine.add(new ArrayList<>()));
        try {
            for (int round = 1; round <= rounds; round++) {
                for (int i = 0; i < lines.size(); i++) {
                    System.err.printf(
                            "round %d of %d: %s%n", round, rounds, lines.get(i).title());
                    String json = run(lines.get(i));
                    perLine.get(i).add(json);
                    all.add(json.strip());
                }
            }
        } finally {
            BenchDirectory.delete(BenchDirectory.root());
        }
        Path file = results.resolve("latency.json");
        Files.writeString(file, "[\n" + String.join(",\n", all) + "\n]\n");
        for (String kind : new String[] {"service", "response"}) {
            System.out.printf(
                    "%n" + ROW, kind + " time, us", FIELDS[0], FIELDS[1], FIELDS[2], FIELDS[3], FIELDS[4], FIELDS[5]);
            for (int i = 0; i < lines.size(); i++) {
                print(lines.get(i), kind, perLine.get(i));
            }
        }
        System.out.printf(
                "%nMedians of %d rounds of %d s; 1 KiB; response = from when a push was due.%n" + "Raw results: %s%n",
                rounds, seconds, file);
    }

    private String run(Line line) throws IOException {
        Path directory = BenchDirectory.create("latency");
        Path file = directory.resolve("result.json");
        List<String> flags = new ArrayList<>(JvmFlags.of(line.subject()));
        flags.add("-Xmx512m");
        flags.add(BenchDirectory.quietLogging());
        try {
            BenchChild.run(
                    LatencyRun.class,
                    flags,
                    List.of(
                            line.subject(),
                            Integer.toString(PAYLOAD),
                            line.segment(),
                            line.segments(),
                            Integer.toString(line.rate()),
                            Integer.toString(Math.max(1000, seconds * 300)),
                            Integer.toString(seconds * 1000),
                            directory.resolve("lane").toString(),
                            file.toString()));
            return Files.readString(file);
        } finally {
            BenchDirectory.delete(directory);
        }
    }

    private static void print(Line line, String kind, List<String> rounds) {
        Object[] values = new Object[FIELDS.length + 1];
        values[0] = "  " + line.title();
        for (int i = 0; i < FIELDS.length; i++) {
            Pattern pattern = Pattern.compile(
                    "\"" + kind + "_micros\": \\{[^}]*\"" + Pattern.quote(FIELDS[i]) + "\": ([0-9.E]+)");
            double[] sorted = rounds.stream()
                    .mapToDouble(json -> value(pattern, json))
                    .sorted()
                    .toArray();
            values[i + 1] = String.format(Locale.ROOT, "%.2f", sorted[sorted.length / 2]);
        }
        System.out.printf(ROW, values);
    }

    private static double value(Pattern pattern, String json) {
        Matcher matcher = pattern.matcher(json);
        if (!matcher.find()) {
            throw new IllegalStateException("there is no " + pattern + " in " + json);
        }
        return Double.parseDouble(matcher.group(1));
    }
}
