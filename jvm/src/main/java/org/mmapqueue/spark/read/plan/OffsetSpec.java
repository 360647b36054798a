package org.mmapqueue.spark.read.plan;

import java.util.Locale;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;

/**
 * A start or end in each partition, as given by an option. Immutable.
 *
 * @param option the option's name, for messages
 * @param text its value
 * @param kind the kind of the value
 * @param number the offset of the only partition, for {@link Kind#NUMBER}
 * @param each the offsets by partition, for {@link Kind#EACH}; {@link #LATEST} and {@link #EARLIEST} have Kafka's
 *     values
 */
public record OffsetSpec(String option, String text, Kind kind, long number, PartitionOffsets each) {
    /** In offsets by partition: the log end. */
    public static final long LATEST = -1;
    /** In offsets by partition: the log start. */
    public static final long EARLIEST = -2;

    static final String ALLOWED = "earliest, latest, committed, an offset (with one partition), or an offset for each"
            + " partition such as {\"0\":12,\"1\":40}, where -1 is latest and -2 is earliest";

    /** Kinds of values. */
    public enum Kind {
        EARLIEST,
        LATEST,
        COMMITTED,
        NUMBER,
        EACH
    }

    /**
     * Parses an option's value.
     *
     * @throws IllegalArgumentException if the text is not one of {@link #ALLOWED}
     */
    static OffsetSpec parse(String option, String text) {
        switch (text.toLowerCase(Locale.ROOT)) {
            case "earliest":
                return new OffsetSpec(option, text, Kind.EARLIEST, 0, null);
            case "latest":
                return new OffsetSpec(option, text, Kind.LATEST, 0, null);
            case "committed":
                return new OffsetSpec(option, text, Kind.COMMITTED, 0, null);
            default:
                return text.startsWith("{") ? each(option, text) : number(option, text);
        }
    }

    private static OffsetSpec number(String option, String text) {
        try {
            long number = Long.parseLong(text);
            if (number >= 0) {
                return new OffsetSpec(option, text, Kind.NUMBER, number, null);
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        throw Options.bad(option, text, ALLOWED);
    }

    private static OffsetSpec each(String option, String text) {
        PartitionOffsets offsets;
        try {
            offsets = PartitionOffsets.parse(text);
        } catch (IllegalArgumentException e) {
            throw Options.bad(option, text, ALLOWED);
        }
        if (offsets.map().isEmpty() || offsets.map().values().stream().anyMatch(offset -> offset < EARLIEST)) {
            throw Options.bad(option, text, ALLOWED);
        }
        return new OffsetSpec(option, text, Kind.EACH, 0, offsets);
    }

    /** Whether the value gives an explicit offset for a partition. */
    boolean isNumber(int partition) {
        return kind == Kind.NUMBER || kind == Kind.EACH && each.of(partition, EARLIEST) >= 0;
    }

    /** Whether the value gives explicit offsets. */
    boolean isExplicit() {
        return kind == Kind.NUMBER || kind == Kind.EACH;
    }
}
