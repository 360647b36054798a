package org.mmapqueue.bench.latency;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.mmapqueue.bench.BenchChild;
import org.mmapqueue.bench.BenchDirectory;
import org.mmapqueue.bench.peer.BigQueue;
import org.mmapqueue.bench.peer.JvmFlags;

/**
 * Measures the latency of a push at rates from 10 000 to a million a second, for the queue, the roofline and the peers.
 * A round runs each subject once. Writes the percentiles of each run as JSON.
 */
public final class LatencyMain {
    private static final int[] RATES = {10_000, 100_000, 200_000, 500_000, 1_000_000};
    private static final int PAYLOAD = 1024;
    private static final String SMALL = "131072";
    private static final String LARGE = "67108864";
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
            throw new IllegalArgumentException("each argument needs a value: " + words[words.length - 1]);
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
        try {
            for (int round = 1; round <= rounds; round++) {
                for (Line line : lines) {
                    System.err.printf("round %d of %d: %s%n", round, rounds, line.title());
                    all.add(run(line).strip());
                }
            }
        } finally {
            BenchDirectory.delete(BenchDirectory.root());
        }
        Path file = results.resolve("latency.json");
        Files.writeString(file, "[\n" + String.join(",\n", all) + "\n]\n");
        System.err.printf("%d rounds of %d s: %s%n", rounds, seconds, file);
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
                            directory.resolve("subject").toString(),
                            file.toString()));
            return Files.readString(file);
        } finally {
            BenchDirectory.delete(directory);
        }
    }
}
