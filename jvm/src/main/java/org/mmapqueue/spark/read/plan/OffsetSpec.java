package org.mmapqueue.spark.read.plan;

import java.util.Locale;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;

/**
 * A place in each partition as an option says it. Immutable.
 *
 * @param option the option's name, for messages
 * @param text its value
 * @param kind what it says
 * @param number the offset, where it is one for the only partition
 * @param each the offsets by partition, where it says them; {@link #LATEST} and {@link #EARLIEST} count as in Kafka's
 */
public record OffsetSpec(String option, String text, Kind kind, long number, PartitionOffsets each) {
    /** In offsets by partition: the end. */
    public static final long LATEST = -1;
    /** In offsets by partition: the oldest record that is retained. */
    public static final long EARLIEST = -2;

    static final String ALLOWED = "earliest, latest, committed, an offset (with one partition), or an offset for each"
            + " partition such as {\"0\":12,\"1\":40}, where -1 is latest and -2 is earliest";

    /** What a place can be said by. */
    public enum Kind {
        EARLIEST,
        LATEST,
        COMMITTED,
        NUMBER,
        EACH
    }

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException when the text is none of {@link #ALLOWED}
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
            // said below
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

    /** Whether it says the offset of a partition by its number. */
    boolean isNumber(int partition) {
        return kind == Kind.NUMBER || kind == Kind.EACH && each.of(partition, EARLIEST) >= 0;
    }

    /** Whether it says offsets by their numbers. */
    boolean isExplicit() {
        return kind == Kind.NUMBER || kind == Kind.EACH;
    }
}
