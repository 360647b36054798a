package org.mmapqueue.spark.common;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses durations in Spark's syntax: "90000" (ms), "90s", "15 minutes", "1 hour 30 minutes", "interval 2 days". */
final class Durations {
    /** The allowed values, for error messages. */
    static final String ALLOWED = "a time such as 500ms, 60s, 5m, 15 minutes or 1 hour 30 minutes; a bare number is ms";

    private static final Pattern PART = Pattern.compile("\\s*(\\d{1,19}(?:\\.\\d{1,9})?)\\s*([a-z]+)\\s*");
    private static final Pattern BARE = Pattern.compile("\\d{1,19}");
    private static final String PREFIX = "interval ";

    /** ns of each unit; units of more than two letters have a plural. */
    private static final Map<String, Long> UNITS = Map.ofEntries(
            Map.entry("us", 1_000L),
            Map.entry("microsecond", 1_000L),
            Map.entry("ms", 1_000_000L),
            Map.entry("msec", 1_000_000L),
            Map.entry("millisecond", 1_000_000L),
            Map.entry("s", 1_000_000_000L),
            Map.entry("sec", 1_000_000_000L),
            Map.entry("second", 1_000_000_000L),
            Map.entry("m", 60_000_000_000L),
            Map.entry("min", 60_000_000_000L),
            Map.entry("minute", 60_000_000_000L),
            Map.entry("h", 3_600_000_000_000L),
            Map.entry("hr", 3_600_000_000_000L),
            Map.entry("hour", 3_600_000_000_000L),
            Map.entry("d", 86_400_000_000_000L),
            Map.entry("day", 86_400_000_000_000L),
            Map.entry("w", 604_800_000_000_000L),
            Map.entry("week", 604_800_000_000_000L));

    private Durations() {}

    /**
     * Parses a duration.
     *
     * @return the duration; empty if the text is not a duration, is negative, or does not fit into a long of ms
     */
    static Optional<Duration> parse(String text) {
        String lower = text.strip().toLowerCase(Locale.ROOT);
        try {
            if (BARE.matcher(lower).matches()) {
                return Optional.of(Duration.ofMillis(Long.parseLong(lower)));
            }
            return parts(lower.startsWith(PREFIX) ? lower.substring(PREFIX.length()) : lower);
        } catch (ArithmeticException | NumberFormatException e) {
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
            Long unit = unit(part.group(2));
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

    private static Long unit(String word) {
        boolean isPlural = word.length() > 2 && word.endsWith("s");
        return UNITS.get(isPlural ? word.substring(0, word.length() - 1) : word);
    }
}
