package org.mmapqueue.bench.guard;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.mmapqueue.bench.BenchChild;
import org.mmapqueue.bench.BenchDirectory;

/**
 * Compares the speed of the queue in two jars. JVMs with one jar and the other alternate, and the order alternates from
 * pair to pair, so a slow minute of the machine or a warm file system affects both. Ends with status 1 if head is slower
 * than base by more than 10 %, with the whole 95 % interval.
 */
public final class GuardMain {
    private static final int[] PAYLOADS = {100, 1024};
    private static final int LEAST_PAIRS = 10;
    private static final double TOLERANCE = 0.10;
    private static final String USAGE = "GuardMain BASE.jar HEAD.jar [PAIRS, at least 10] [MILLIS of each run]";

    private final Path base;
    private final Path head;
    private final String millis;
    private final Map<String, Comparison> comparisons = new LinkedHashMap<>();
    private final List<String> raw = new ArrayList<>();

    private GuardMain(Path base, Path head, String millis) {
        this.base = base;
        this.head = head;
        this.millis = millis;
        for (int payload : PAYLOADS) {
            comparisons.put("push, " + payload + " B", new Comparison());
            comparisons.put("pop, " + payload + " B", new Comparison());
            comparisons.put("1 + 1, " + payload + " B", new Comparison());
        }
    }

    /** Compares two jars. */
    public static void main(String[] words) throws IOException {
        int pairs = words.length > 2 ? Integer.parseInt(words[2]) : LEAST_PAIRS;
        if (words.length < 2 || pairs < LEAST_PAIRS) {
            System.err.println(USAGE);
            System.exit(2);
        }
        GuardMain guard = new GuardMain(Path.of(words[0]), Path.of(words[1]), words.length > 3 ? words[3] : "2000");
        try {
            guard.run(pairs);
        } finally {
            BenchDirectory.delete(BenchDirectory.root());
        }
        System.exit(guard.print() ? 0 : 1);
    }

    private void run(int pairs) throws IOException {
        for (int pair = 0; pair < pairs; pair++) {
            System.err.printf("pair %d of %d%n", pair + 1, pairs);
            for (int payload : PAYLOADS) {
                boolean baseFirst = pair % 2 == 0;
                double[] first = run(baseFirst ? base : head, payload);
                double[] second = run(baseFirst ? head : base, payload);
                add(payload, baseFirst ? first : second, baseFirst ? second : first);
            }
        }
        Path file = Path.of("build", "bench", "guard.json");
        Files.createDirectories(file.getParent());
        Files.writeString(file, "[\n" + String.join(",\n", raw) + "\n]\n");
    }

    private void add(int payload, double[] baseRates, double[] headRates) {
        comparisons.get("push, " + payload + " B").add(baseRates[0], headRates[0]);
        comparisons.get("pop, " + payload + " B").add(baseRates[1], headRates[1]);
        comparisons.get("1 + 1, " + payload + " B").add(baseRates[2], headRates[2]);
        raw.add(String.format(
                Locale.ROOT,
                "{\"payload_bytes\": %d, \"base_push\": %.0f, \"head_push\": %.0f, "
                        + "\"base_pop\": %.0f, \"head_pop\": %.0f, \"base_both\": %.0f, \"head_both\": %.0f}",
                payload,
                baseRates[0],
                headRates[0],
                baseRates[1],
                headRates[1],
                baseRates[2],
                headRates[2]));
    }

    // The first entries of the class path win: GuardRun compiled against the jar, then the jar.
    private double[] run(Path jar, int payload) throws IOException {
        Path directory = BenchDirectory.create("guard");
        Path file = directory.resolve("rates");
        try {
            BenchChild.run(
                    jar + ".run" + File.pathSeparator + jar + File.pathSeparator
                            + System.getProperty("java.class.path"),
                    GuardRun.class,
                    List.of("-Xmx512m"),
                    List.of(
                            directory.resolve("queue").toString(),
                            Integer.toString(payload),
                            millis,
                            millis,
                            file.toString()));
            return Arrays.stream(Files.readString(file).split(" "))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
        } finally {
            BenchDirectory.delete(directory);
        }
    }

    private boolean print() {
        boolean good = true;
        System.out.printf("%-14s %10s %20s%n", "", "head/base", "95 % interval");
        for (Map.Entry<String, Comparison> entry : comparisons.entrySet()) {
            Comparison comparison = entry.getValue();
            String verdict = comparison.isSlower(TOLERANCE)
                    ? "SLOWER"
                    : comparison.isOpen(TOLERANCE) ? "inconclusive: more pairs" : "";
            good &= !comparison.isSlower(TOLERANCE);
            System.out.printf(
                    Locale.ROOT,
                    "%-14s %10.3f %20s  %s%n",
                    entry.getKey(),
                    comparison.ratio(),
                    String.format(Locale.ROOT, "%.3f .. %.3f", comparison.low(), comparison.high()),
                    verdict);
        }
        return good;
    }
}
