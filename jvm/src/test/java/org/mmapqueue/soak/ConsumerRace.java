package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The races of {@link ConsumerRaces}, over and over. Its own command ({@code make consumer-race}). Arguments: rounds
 * (default 10), first seed (default by the clock), parent of the queues' directories (default that of temporary files).
 * Prints one table of what was tried and what went wrong; exit status 1 when something did.
 */
public final class ConsumerRace {
    private static final int SHOWN = 20;

    private final Map<String, Row> rows = new LinkedHashMap<>();
    private final Path parent;

    /** What all rounds of one race have come to. */
    private static final class Row {
        private final RaceTally tally = new RaceTally();
        private final Map<String, Integer> faults = new LinkedHashMap<>();
        private int rounds;
        private long nanos;
    }

    private ConsumerRace(Path parent) {
        this.parent = parent;
    }

    /** Runs them. */
    public static void main(String[] arguments) throws Exception {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : System.currentTimeMillis() % 1_000_000;
        Path parent = Files.createTempDirectory(
                Path.of(arguments.length > 2 ? arguments[2] : System.getProperty("java.io.tmpdir")), "consumer-race");
        ConsumerRace race = new ConsumerRace(parent);
        System.out.printf("%d rounds from seed %d in %s%n", rounds, seed, parent);
        try {
            for (int i = 0; i < rounds; i++) {
                race.round(seed + i);
            }
        } finally {
            remove(parent);
        }
        System.exit(race.report() ? 0 : 1);
    }

    private interface Race {
        RaceTally run(ConsumerRaces races) throws Exception;
    }

    private void round(long seed) throws Exception {
        run("registering", seed, races -> races.registering(2, 2, 400));
        run("killing", seed, races -> races.killing(30));
        run("browsing", seed, races -> races.browsing(2, 20_000));
        run("owning", seed, races -> races.owning(60_000));
        run("lagging", seed, races -> races.lagging(200));
    }

    private void run(String name, long seed, Race race) throws Exception {
        Row row = rows.computeIfAbsent(name, key -> new Row());
        Path directory = parent.resolve(name + "-" + seed);
        long start = System.nanoTime();
        RaceTally tally = race.run(new ConsumerRaces(directory, seed));
        row.nanos += System.nanoTime() - start;
        row.rounds++;
        tally.counts().forEach(row.tally::add);
        for (String fault : tally.faults()) {
            row.faults.merge(fault, 1, Integer::sum);
            System.out.printf("%s, seed %d: %s%n", name, seed, fault);
        }
        remove(directory);
    }

    private boolean report() {
        boolean good = true;
        System.out.printf("%-12s %6s %8s %7s  %s%n", "race", "rounds", "seconds", "faults", "tried");
        for (Map.Entry<String, Row> each : rows.entrySet()) {
            Row row = each.getValue();
            int faults =
                    row.faults.values().stream().mapToInt(Integer::intValue).sum();
            good &= faults == 0;
            System.out.printf(
                    "%-12s %6d %8.1f %7d  %s%n",
                    each.getKey(),
                    row.rounds,
                    row.nanos / 1e9,
                    faults,
                    row.tally.counts().entrySet().stream()
                            .map(one -> String.format("%,d %s", one.getValue(), one.getKey()))
                            .collect(Collectors.joining("; ")));
        }
        for (Map.Entry<String, Row> each : rows.entrySet()) {
            each.getValue().faults.entrySet().stream()
                    .limit(SHOWN)
                    .forEach(fault ->
                            System.out.printf("%s: %d × %s%n", each.getKey(), fault.getValue(), fault.getKey()));
        }
        System.out.println(good ? "passed" : "failed");
        return good;
    }

    private static void remove(Path directory) throws IOException {
        if (Files.exists(directory)) {
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }
}
