package org.mmapqueue.bench;

import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * The command line of {@link BenchMain}.
 *
 * @param full the long form, with all rows
 * @param rounds the most rounds of the suite
 * @param warmupMillis warm-up of a fork; less than a second would measure the JIT compiler
 * @param iterations measured iterations in each fork
 * @param millis least length of an iteration
 * @param seconds no row starts that would end later
 * @param only runs the rows that match, by section, label and payload, and their rooflines
 * @param profiler a JMH profiler such as gc, or null
 * @param results directory of the raw results
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
          --rounds N     the most rounds of the suite
          --minutes N    no row starts that would end later
          --millis N     least length of an iteration (250, in the full form 1000)
          --only REGEX   rows that match as --list prints them, and their rooflines
          --prof NAME    a JMH profiler, such as gc or stack; its output is in the raw results
          --results DIR  directory of the raw JSON (build/bench/results)
          --list         print the rows and run nothing

        Queues are in build/bench of the working directory, or in -Dbench.dir; they are removed.
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
            throw new IllegalArgumentException(words[at - 1] + " needs a value");
        }
        return words[at];
    }
}
