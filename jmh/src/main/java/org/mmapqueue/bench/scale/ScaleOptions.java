package org.mmapqueue.bench.scale;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/**
 * The command line of {@link ScaleMain}, and the sizes that follow from it.
 *
 * @param size payload bytes of the large queue
 * @param segment bytes of a segment
 * @param rounds rounds of pairs, opening and recovery
 * @param results the directory for the results
 */
record ScaleOptions(long size, int segment, int rounds, Path results) {
    static final String USAGE = """
        ScaleMain [--size 20g] [--segment 64m] [--rounds 5] [--results DIR]

          --size BYTES     payload of the large queue, at least 64m
          --segment BYTES  of a segment, 4k to 1g
          --rounds N       rounds of pairs, opening and recovery
          --results DIR    directory of scale.json (build/bench/scale); scale-SEGMENT.json if that is not 64m

        Queues are in build/bench of the working directory, or in -Dbench.dir; they take size + 4 GiB and are
        removed.
        """;

    private static final int DEFAULT_SEGMENT = 64 << 20;
    private static final long LEAST_SIZE = 64L << 20;
    private static final long SMALL = 1L << 20;
    private static final long MIDDLE = 1L << 30;
    private static final int SMALLER_BY = 8;
    private static final long FIXED_TAIL = 16L << 20;
    /** Tail of the untimed first recovery. */
    static final long WARM_UP_TAIL = 256L << 20;

    private static final long[] TAILS = {1L << 20, 4L << 20, FIXED_TAIL, 64L << 20, 256L << 20};

    /** A measured recovery: payload bytes of the queue, and of the unflushed tail. */
    record Recovery(long level, long tail) {}

    ScaleOptions {
        if (size < LEAST_SIZE) {
            throw new IllegalArgumentException("--size " + size + ": expected at least " + LEAST_SIZE + " bytes");
        }
        if (segment < 4096 || segment > 1 << 30) {
            throw new IllegalArgumentException("--segment " + segment + ": expected 4096 to " + (1 << 30) + " bytes");
        }
        if (rounds < 1) {
            throw new IllegalArgumentException("--rounds " + rounds + ": expected a number from 1");
        }
    }

    static ScaleOptions parse(String... words) {
        long size = 20L << 30;
        long segment = DEFAULT_SEGMENT;
        int rounds = 5;
        Path results = Path.of("build", "bench", "scale");
        if (words.length % 2 == 1) {
            throw new IllegalArgumentException("each argument needs a value: " + words[words.length - 1]);
        }
        for (int i = 0; i < words.length; i += 2) {
            String value = words[i + 1];
            switch (words[i]) {
                case "--size" -> size = bytes(words[i], value);
                case "--segment" -> segment = bytes(words[i], value);
                case "--rounds" -> rounds = (int) Math.min(Integer.MAX_VALUE, bytes(words[i], value));
                case "--results" -> results = Path.of(value);
                default -> throw new IllegalArgumentException("unknown argument " + words[i]);
            }
        }
        return new ScaleOptions(size, (int) Math.min(Integer.MAX_VALUE, segment), rounds, results);
    }

    private static long bytes(String name, String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        int shift = switch (lower.isEmpty() ? ' ' : lower.charAt(lower.length() - 1)) {
            case 'k' -> 10;
            case 'm' -> 20;
            case 'g' -> 30;
            default -> 0;
        };
        try {
            return Math.multiplyExact(
                    Long.parseLong(shift == 0 ? lower : lower.substring(0, lower.length() - 1)), 1L << shift);
        } catch (NumberFormatException | ArithmeticException e) {
            throw new IllegalArgumentException(name + " " + text + ": expected a number such as 128k, 64m or 20g", e);
        }
    }

    /** Payload bytes of the compared queues, ascending. */
    List<Long> levels() {
        long middle = size > MIDDLE ? MIDDLE : size / SMALLER_BY;
        return List.copyOf(new TreeSet<>(List.of(SMALL, middle, size)));
    }

    /** The same tail on queues of all sizes, then all tails on one of them. */
    List<Recovery> recoveries() {
        long middle = levels().get(1);
        List<Recovery> all = new ArrayList<>();
        for (long level : levels()) {
            all.add(new Recovery(level, FIXED_TAIL));
        }
        for (long tail : TAILS) {
            if (tail != FIXED_TAIL) {
                all.add(new Recovery(middle, tail));
            }
        }
        return all;
    }

    Path file() {
        String suffix = segment == DEFAULT_SEGMENT ? "" : "-" + (segment >> 10) + "k";
        return results.resolve("scale" + suffix + ".json");
    }
}
