package org.mmapqueue.soak;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.mmapqueue.harness.Arguments;
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.Directories;

/**
 * Repeats the races of {@link ConsumerRaces} ({@code make consumer-race}). Arguments: rounds (default 10), first seed
 * (default by the clock), parent of the directories (default that of temporary files). Prints one table; the exit
 * status is 1 if a fault was found.
 */
public final class ConsumerRace {
    private static final int SHOWN = 20;

    private final Map<String, Row> rows = new LinkedHashMap<>();
    private final Path parent;

    /** The results of one race. */
    private static final class Row {
        private final Tally tally = new Tally();
        private final Map<String, Integer> faults = new LinkedHashMap<>();
        private int rounds;
        private long nanos;
    }

    private ConsumerRace(Path parent) {
        this.parent = parent;
    }

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        int rounds = arguments.count(0, 10);
        long seed = arguments.seed(1);
        Path parent = arguments.tempDirectory(2, "consumer-race-");
        ConsumerRace race = new ConsumerRace(parent);
        System.out.printf("%d rounds from seed %d in %s%n", rounds, seed, parent);
        try {
            for (int i = 0; i < rounds; i++) {
                race.round(seed + i);
            }
        } finally {
            Directories.delete(parent);
        }
        System.exit(race.report() ? 0 : 1);
    }

    private interface Race {
        Tally run(ConsumerRaces races) throws Exception;
    }

    private void round(long seed) throws Exception {
        run("churn", seed, races -> races.churn(2, 2, 400));
        run("kills", seed, races -> races.kills(30));
        run("reads", seed, races -> races.reads(2, 20_000));
        run("acks", seed, races -> races.acks(60_000));
        run("lag", seed, races -> races.lag(200));
    }

    private void run(String name, long seed, Race race) throws Exception {
        Row row = rows.computeIfAbsent(name, key -> new Row());
        Path directory = parent.resolve(name + "-" + seed);
        long start = System.nanoTime();
        Tally tally = race.run(new ConsumerRaces(directory, seed));
        row.nanos += System.nanoTime() - start;
        row.rounds++;
        row.tally.addAll(tally);
        for (String fault : tally.faults()) {
            row.faults.merge(fault, 1, Integer::sum);
            System.out.printf("%s, seed %d: %s%n", name, seed, fault);
        }
        Directories.delete(directory);
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
}
