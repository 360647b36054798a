package org.mmapqueue.spark.read.plan;

import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import org.mmapqueue.StartAt;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.OptionUse;
import org.mmapqueue.spark.common.Options;

/**
 * The validated options of a read. Immutable.
 *
 * @param startingOffsets the start; a stream uses it at its first start only
 * @param endingOffsets the end of a batch
 * @param startingTimestamp begin with the first record pushed at this time or later, in µs since 1970; empty if not
 *     given
 * @param endingTimestamp end before the first record pushed at this time or later, in µs since 1970; empty if not given
 * @param consumer the consumer's name; null if not given
 * @param maxOffsetsPerTrigger the limit of records in a micro-batch; {@link #UNLIMITED} if not given
 * @param minOffsetsPerTrigger the number of records that a micro-batch waits for; 0 if not given
 * @param maxTriggerDelayMs the maximum wait for minOffsetsPerTrigger, in ms
 * @param maxBytesPerTrigger the approximate limit of log bytes in a micro-batch; {@link #UNLIMITED} if not given
 * @param minPartitions the minimum number of input partitions; 0 if not given
 * @param maxPartitionBytes the approximate limit of log bytes in an input partition
 * @param failOnDataLoss whether the loss of a requested record is an error
 * @param skipsDamage whether damaged records are skipped; else they are an error
 * @param given the options of the query itself: defaults of the table or the catalog may be for other uses
 */
public record ReadOptions(
        OffsetSpec startingOffsets,
        OffsetSpec endingOffsets,
        OptionalLong startingTimestamp,
        OptionalLong endingTimestamp,
        String consumer,
        long maxOffsetsPerTrigger,
        long minOffsetsPerTrigger,
        long maxTriggerDelayMs,
        long maxBytesPerTrigger,
        int minPartitions,
        long maxPartitionBytes,
        boolean failOnDataLoss,
        boolean skipsDamage,
        Options given) {
    public static final String STARTING_OFFSETS = "startingOffsets";
    static final String ENDING_OFFSETS = "endingOffsets";
    public static final String STARTING_TIMESTAMP = "startingTimestamp";
    static final String ENDING_TIMESTAMP = "endingTimestamp";
    static final String CONSUMER = "consumer";
    static final String MAX_OFFSETS = "maxOffsetsPerTrigger";
    static final String MIN_OFFSETS = "minOffsetsPerTrigger";
    static final String MAX_DELAY = "maxTriggerDelay";
    static final String MAX_BYTES = "maxBytesPerTrigger";
    static final String MIN_PARTITIONS = "minPartitions";
    static final String MAX_PARTITION_BYTES = "maxPartitionBytes";
    static final String FAIL_ON_DATA_LOSS = "failOnDataLoss";
    static final String ON_DAMAGE = "onDamage";

    /** The value of a limit that is not given. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    private static final int MOST_PARTITIONS = 1 << 20;
    private static final Pattern CONSUMER_NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");
    private static final Duration DEFAULT_DELAY = Duration.ofMinutes(15);

    /**
     * Parses and validates options.
     *
     * @param options of the table and of the query
     * @param given the options of the query alone
     * @return the options, with defaults
     * @throws IllegalArgumentException if an option is invalid, or two contradict each other
     */
    public static ReadOptions of(Options options, Options given) {
        refuseBoth(options, STARTING_OFFSETS, STARTING_TIMESTAMP);
        refuseBoth(options, ENDING_OFFSETS, ENDING_TIMESTAMP);
        long min = options.number(MIN_OFFSETS, 0, 1);
        long max = options.number(MAX_OFFSETS, UNLIMITED, 1);
        if (min > max) {
            throw Options.bad(MIN_OFFSETS, Long.toString(min), "at most " + MAX_OFFSETS + ", which is " + max);
        }
        return new ReadOptions(
                OffsetSpec.parse(STARTING_OFFSETS, options.text(STARTING_OFFSETS, "earliest")),
                OffsetSpec.parse(ENDING_OFFSETS, options.text(ENDING_OFFSETS, "latest")),
                timestamp(options, STARTING_TIMESTAMP),
                timestamp(options, ENDING_TIMESTAMP),
                consumer(options),
                max,
                min,
                options.millis(MAX_DELAY, DEFAULT_DELAY),
                options.bytes(MAX_BYTES, UNLIMITED),
                partitions(options),
                options.bytes(MAX_PARTITION_BYTES, 128L << 20),
                options.flag(FAIL_ON_DATA_LOSS, true),
                skipsDamage(options),
                given);
    }

    /**
     * Checks the options of a batch read.
     *
     * @throws IllegalArgumentException if an option of the query has no effect on a batch read, the batch begins at
     *     latest, or ends at earliest
     */
    public void refuseForBatch() {
        KnownOptions.refuseOthers(given, Set.of(OptionUse.BATCH_READ));
        boolean usesConsumer = startingOffsets.kind() == OffsetSpec.Kind.COMMITTED
                || endingOffsets.kind() == OffsetSpec.Kind.COMMITTED;
        if (given.isSet(CONSUMER) && !usesConsumer) {
            throw new IllegalArgumentException("option " + CONSUMER + " has no effect on a batch read without "
                    + STARTING_OFFSETS + " or " + ENDING_OFFSETS + " = committed");
        }
        refuse(
                startingOffsets,
                OffsetSpec.Kind.LATEST,
                OffsetSpec.LATEST,
                "a batch begins at earliest, committed, an offset, or an offset for each partition");
        refuse(
                endingOffsets,
                OffsetSpec.Kind.EARLIEST,
                OffsetSpec.EARLIEST,
                "a batch ends at latest, committed, an offset, or an offset for each partition");
    }

    private static void refuse(OffsetSpec spec, OffsetSpec.Kind kind, long number, String allowed) {
        if (spec.kind() == kind
                || spec.kind() == OffsetSpec.Kind.EACH && spec.each().map().containsValue(number)) {
            throw Options.bad(spec.option(), spec.text(), allowed);
        }
    }

    /**
     * Checks the options of a streaming read.
     *
     * @throws IllegalArgumentException if an option of the query has no effect on a streaming read
     */
    public void refuseForStream() {
        KnownOptions.refuseOthers(given, Set.of(OptionUse.STREAM_READ));
        if (given.isSet(MAX_DELAY) && minOffsetsPerTrigger == 0) {
            throw new IllegalArgumentException(
                    "option " + MAX_DELAY + " has no effect on a streaming read without " + MIN_OFFSETS);
        }
    }

    /**
     * The consumer's name.
     *
     * @param missing the default
     * @return the name
     */
    public String consumerOr(String missing) {
        return consumer == null ? missing : consumer;
    }

    /** The start, for messages. */
    public String startingText() {
        return text(startingOffsets, startingTimestamp);
    }

    /** The end of a batch, for messages. */
    public String endingText() {
        return text(endingOffsets, endingTimestamp);
    }

    private static String text(OffsetSpec offsets, OptionalLong timestamp) {
        return timestamp.isEmpty()
                ? offsets.text()
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

    private static boolean skipsDamage(Options options) {
        String text = options.text(ON_DAMAGE, "error").toLowerCase(Locale.ROOT);
        if (!text.equals("error") && !text.equals("skip")) {
            throw Options.bad(ON_DAMAGE, text, "error or skip");
        }
        return text.equals("skip");
    }

    private static OptionalLong timestamp(Options options, String name) {
        String text = options.text(name, null);
        if (text == null) {
            return OptionalLong.empty();
        }
        try {
            return OptionalLong.of(
                    text.matches("\\d{1,15}")
                            ? 1000 * Long.parseLong(text)
                            : StartAt.timestamp(Instant.parse(text)).value());
        } catch (DateTimeParseException e) {
            throw Options.bad(name, text, "milliseconds since 1970, or an instant such as 2026-01-31T12:00:00Z");
        }
    }
}
