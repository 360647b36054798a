package org.mmapqueue.bench;

import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * What BenchMain was told to do.
 *
 * @param full the long form, with all rows
 * @param rounds how many times the whole suite is gone through
 * @param warmupMillis how long a fork runs before it is measured; less than a second would measure the JIT
 * @param iterations measured iterations in each fork
 * @param millis least length of an iteration
 * @param seconds no row is begun when that would take longer in all
 * @param only runs the rows whose section, label and payload match, and their rooflines
 * @param profiler a JMH profiler such as gc, or null
 * @param results where the raw results go
 */
record BenchOptions(
        boolean full,
        int rounds,
        int warmupMillis,
        int iterations,
        int millis,
        int seconds,
        Pattern only,
        String profiler,
        Path results) {
    static final String USAGE = """
        BenchMain [--short | --full] [--rounds N] [--minutes N] [--millis N] [--only REGEX]
                  [--prof NAME] [--results DIR] [--list]

          --short        five minutes, up to two rounds (the default)
          --full         all payloads and sizes, five rounds; up to five hours
          --rounds N     how often the suite is gone through
          --minutes N    no row is begun when that would take longer in all
          --millis N     least length of an iteration (250, in the full form 1000)
          --only REGEX   rows whose "section: label, payload" matches, and what they are compared with
          --prof NAME    a JMH profiler as well, such as gc or stack; its findings are in the raw results
          --results DIR  where the raw JSON goes (build/bench/results)
          --list         print the rows and run nothing

        Queues are made in build/bench of the working directory, or in -Dbench.dir, and removed.
        """;

    static BenchOptions parse(String... words) {
        boolean full = false;
        int rounds = 0;
        int minutes = 0;
        int millis = 0;
        Pattern only = Pattern.compile("");
        String profiler = null;
        Path results = Path.of("build", "bench", "results");
        for (int i = 0; i < words.length; i++) {
            switch (words[i]) {
                case "--short" -> full = false;
                case "--full" -> full = true;
                case "--rounds" -> rounds = positive(words[i], value(words, ++i));
                case "--minutes" -> minutes = positive(words[i], value(words, ++i));
                case "--millis" -> millis = positive(words[i], value(words, ++i));
                case "--only" -> only = Pattern.compile(value(words, ++i));
                case "--prof" -> profiler = value(words, ++i);
                case "--results" -> results = Path.of(value(words, ++i));
                default -> throw new IllegalArgumentException("unknown argument " + words[i]);
            }
        }
        if (rounds == 0) {
            rounds = full ? 5 : 2;
        }
        if (millis == 0) {
            millis = full ? 1000 : 250;
        }
        int seconds = minutes > 0 ? 60 * minutes : full ? 18_000 : 290;
        return full
                ? new BenchOptions(true, rounds, 2000, 5, millis, seconds, only, profiler, results)
                : new BenchOptions(false, rounds, 1000, 3, millis, seconds, only, profiler, results);
    }

    private static int positive(String name, String text) {
        int number = Integer.parseInt(text);
        if (number < 1) {
            throw new IllegalArgumentException(name + " " + text + ": expected a number from 1");
        }
        return number;
    }

    private static String value(String[] words, int at) {
        if (at == words.length) {
            throw new IllegalArgumentException(words[at - 1] + " wants a value");
        }
        return words[at];
    }
}
