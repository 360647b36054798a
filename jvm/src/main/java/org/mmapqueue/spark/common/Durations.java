package org.mmapqueue.spark.common;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses durations in Spark's syntax, but with units: "90s", "15 minutes", "1 hour 30 minutes", "interval 2 days". Without a
 * unit only 0 is allowed: Spark's own options differ in the unit of a bare number.
 */
final class Durations {
    /** The allowed values, for error messages. */
    static final String ALLOWED = "a time such as 500ms, 60s, 5m, 15 minutes or 1 hour 30 minutes";

    /** Python's durations accept the same strings: durations.csv of the tests is the test of both. */
    private static final Pattern PART = Pattern.compile("\\s*([0-9]{1,15}(?:\\.[0-9]{1,9})?)\\s*([a-zµ]+)\\s*");

    private static final Pattern ZERO = Pattern.compile("0+");
    private static final String PREFIX = "interval ";

    /** ns of each unit. */
    private static final Map<String, Long> UNITS = new HashMap<>();

    static {
        unit(1_000L, "us", "µs", "microsecond", "microseconds");
        unit(1_000_000L, "ms", "msec", "msecs", "millisecond", "milliseconds");
        unit(1_000_000_000L, "s", "sec", "secs", "second", "seconds");
        unit(60_000_000_000L, "m", "min", "mins", "minute", "minutes");
        unit(3_600_000_000_000L, "h", "hr", "hrs", "hour", "hours");
        unit(86_400_000_000_000L, "d", "day", "days");
        unit(604_800_000_000_000L, "w", "week", "weeks");
    }

    private static void unit(long nanos, String... words) {
        for (String word : words) {
            UNITS.put(word, nanos);
        }
    }

    private Durations() {}

    /**
     * Parses a duration.
     *
     * @return the duration; empty if the text is not a duration, is negative, or does not fit into a long of ms
     */
    static Optional<Duration> parse(String text) {
        String lower = text.strip().toLowerCase(Locale.ROOT);
        if (ZERO.matcher(lower).matches()) {
            return Optional.of(Duration.ZERO);
        }
        try {
            return parts(lower.startsWith(PREFIX) ? lower.substring(PREFIX.length()) : lower);
        } catch (ArithmeticException e) {
            return Optional.empty();
        }
    }

    private static Optional<Duration> parts(String text) {
        Matcher part = PART.matcher(text);
        Duration sum = Duration.ZERO;
        int end = 0;
        while (end < text.length()) {
            if (!part.find(end) || part.start() != end) {
                return Optional.empty();
            }
            Long unit = UNITS.get(part.group(2));
            if (unit == null) {
                return Optional.empty();
            }
            sum = sum.plus(length(new BigDecimal(part.group(1)), unit));
            end = part.end();
        }
        long unused = sum.toMillis(); // throws ArithmeticException on overflow
        return end == 0 ? Optional.empty() : Optional.of(sum);
    }

    private static Duration length(BigDecimal number, long unit) {
        BigDecimal[] seconds = number.multiply(BigDecimal.valueOf(unit))
                .setScale(0, RoundingMode.DOWN)
                .divideAndRemainder(BigDecimal.valueOf(1_000_000_000L));
        return Duration.ofSeconds(seconds[0].longValueExact(), seconds[1].longValueExact());
    }
}
