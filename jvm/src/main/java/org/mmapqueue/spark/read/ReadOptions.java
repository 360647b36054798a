package org.mmapqueue.spark.read;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.mmapqueue.spark.common.Options;

/**
 * The options of reading, checked. Immutable.
 *
 * @param startingOffsets where to begin; a stream only when it is new
 * @param endingOffsets where a batch ends
 * @param startingTimestamp begin with the first record pushed then or later, in µs since 1970; empty when not given
 * @param endingTimestamp a batch ends before the first record pushed then or later, in µs since 1970; empty when not
 *     given
 * @param consumer the consumer's name; null when not given
 * @param maxOffsetsPerTrigger the most records of a micro-batch; {@link #UNLIMITED} when not given
 * @param minOffsetsPerTrigger the records that a micro-batch waits for; 0 when not given
 * @param maxTriggerDelayMs how long it waits for them at most, in ms
 * @param maxBytesPerTrigger about the most bytes of the log of a micro-batch; {@link #UNLIMITED} when not given
 * @param minPartitions the least number of input partitions; 0 when not given
 * @param maxPartitionBytes about the most bytes of the log of an input partition
 * @param failOnDataLoss whether records that are not there any more are an error
 */
public record ReadOptions(OffsetSpec startingOffsets, OffsetSpec endingOffsets, OptionalLong startingTimestamp,
        OptionalLong endingTimestamp, String consumer, long maxOffsetsPerTrigger, long minOffsetsPerTrigger,
        long maxTriggerDelayMs, long maxBytesPerTrigger, int minPartitions, long maxPartitionBytes,
        boolean failOnDataLoss) {
    static final String STARTING_OFFSETS = "startingOffsets";
    static final String ENDING_OFFSETS = "endingOffsets";
    static final String STARTING_TIMESTAMP = "startingTimestamp";
    static final String ENDING_TIMESTAMP = "endingTimestamp";
    static final String CONSUMER = "consumer";
    static final String MAX_OFFSETS = "maxOffsetsPerTrigger";
    static final String MIN_OFFSETS = "minOffsetsPerTrigger";
    static final String MAX_DELAY = "maxTriggerDelay";
    static final String MAX_BYTES = "maxBytesPerTrigger";
    static final String MIN_PARTITIONS = "minPartitions";
    static final String MAX_PARTITION_BYTES = "maxPartitionBytes";
    static final String FAIL_ON_DATA_LOSS = "failOnDataLoss";

    /** A limit that was not given. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final int MOST_PARTITIONS = 1 << 20;
    private static final Pattern CONSUMER_NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");
    private static final Pattern DELAY = Pattern.compile("(\\d{1,15})\\s*(ms|s|m|min|h|d)?");

    /**
     * Reads and checks them.
     *
     * @param options as Spark hands them over
     * @return the options, with defaults for those that are not given
     * @throws IllegalArgumentException when one is wrong, or two contradict each other
     */
    public static ReadOptions of(Options options) {
        refuseBoth(options, STARTING_OFFSETS, STARTING_TIMESTAMP);
        refuseBoth(options, ENDING_OFFSETS, ENDING_TIMESTAMP);
        long min = options.number(MIN_OFFSETS, 0, 1);
        long max = options.number(MAX_OFFSETS, UNLIMITED, 1);
        if (min > max) {
            throw Options.bad(MIN_OFFSETS, Long.toString(min), "at most " + MAX_OFFSETS + ", which is " + max);
        }
        return new ReadOptions(OffsetSpec.parse(STARTING_OFFSETS, options.text(STARTING_OFFSETS, "earliest")),
                OffsetSpec.parse(ENDING_OFFSETS, options.text(ENDING_OFFSETS, "latest")),
                timestamp(options, STARTING_TIMESTAMP), timestamp(options, ENDING_TIMESTAMP), consumer(options),
                max, min, delay(options), options.bytes(MAX_BYTES, UNLIMITED), partitions(options),
                options.bytes(MAX_PARTITION_BYTES, 128L << 20), options.flag(FAIL_ON_DATA_LOSS, true));
    }

    /**
     * The consumer's name.
     *
     * @param missing what counts when none is given
     * @return the name
     */
    public String consumerOr(String missing) {
        return consumer == null ? missing : consumer;
    }

    /** Where a read begins, for people. */
    String startingText() {
        return text(startingOffsets, startingTimestamp);
    }

    /** Where a batch ends, for people. */
    String endingText() {
        return text(endingOffsets, endingTimestamp);
    }

    private static String text(OffsetSpec offsets, OptionalLong timestamp) {
        return timestamp.isEmpty() ? offsets.text()
                : Instant.EPOCH.plus(timestamp.getAsLong(), ChronoUnit.MICROS).toString();
    }

    private static void refuseBoth(Options options, String one, String other) {
        if (options.isSet(one) && options.isSet(other)) {
            throw Options.bad(one, options.text(one, null), "not together with " + other);
        }
    }

    private static int partitions(Options options) {
        long number = options.number(MIN_PARTITIONS, 0, 1);
        if (number > MOST_PARTITIONS) {
            throw Options.bad(MIN_PARTITIONS, Long.toString(number), "1 to " + MOST_PARTITIONS);
        }
        return (int) number;
    }

    private static String consumer(Options options) {
        String name = options.text(CONSUMER, null);
        if (name != null && !CONSUMER_NAME.matcher(name).matches()) {
            throw Options.bad(CONSUMER, name, "1 to 100 letters, digits, '_', '-' or '.'");
        }
        return name;
    }

    private static OptionalLong timestamp(Options options, String name) {
        String text = options.text(name, null);
        if (text == null) {
            return OptionalLong.empty();
        }
        try {
            return OptionalLong.of(text.matches("\\d{1,15}") ? Math.multiplyExact(Long.parseLong(text), 1000L)
                    : ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse(text)));
        } catch (DateTimeParseException | ArithmeticException e) {
            throw Options.bad(name, text, "milliseconds since 1970, or an instant such as 2026-01-31T12:00:00Z");
        }
    }

    private static long delay(Options options) {
        String text = options.text(MAX_DELAY, "15m");
        Matcher matcher = DELAY.matcher(text.toLowerCase(Locale.ROOT));
        if (matcher.matches()) {
            long unit = switch (matcher.group(2) == null ? "ms" : matcher.group(2)) {
                case "s" -> 1000L;
                case "m", "min" -> 60_000L;
                case "h" -> 3_600_000L;
                case "d" -> 86_400_000L;
                default -> 1L;
            };
            try {
                return Math.multiplyExact(Long.parseLong(matcher.group(1)), unit);
            } catch (ArithmeticException e) {
                // said below
            }
        }
        throw Options.bad(MAX_DELAY, text, "a number of milliseconds, or one with ms, s, m, h or d, such as 15m");
    }
}
