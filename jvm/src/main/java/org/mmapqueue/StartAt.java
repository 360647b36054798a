package org.mmapqueue;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * A position in a queue, at which a new consumer starts or to which a consumer seeks. Immutable.
 *
 * @param kind how the position is given
 * @param value the offset, or the time in µs since 1970; 0 for the others
 */
public record StartAt(Kind kind, long value) {

    /** How a position is given. */
    public enum Kind {
        /** The log start. */
        EARLIEST,
        /** The log end. */
        LATEST,
        /** The consumer's first record that is not acked; not for a new consumer. */
        COMMITTED,
        /** A record, by its offset. */
        OFFSET,
        /** A record, by the time at which it was pushed. */
        TIMESTAMP
    }

    /** The log start: without retention, the oldest record that some consumer has not acked. */
    public static final StartAt EARLIEST = new StartAt(Kind.EARLIEST, 0);
    /** The log end: before the next record that is pushed. */
    public static final StartAt LATEST = new StartAt(Kind.LATEST, 0);
    /** The consumer's first record that is not acked. Only for seek: a new consumer has none. */
    public static final StartAt COMMITTED = new StartAt(Kind.COMMITTED, 0);

    /**
     * A record by its offset.
     *
     * @param offset the offset; the end offset is the log end
     * @return the position
     */
    public static StartAt offset(long offset) {
        return new StartAt(Kind.OFFSET, offset);
    }

    /**
     * The first record that was pushed at a time or later; the log end if no such record exists.
     *
     * @param time the time; records have timestamps in whole µs
     * @return the position
     */
    public static StartAt timestamp(Instant time) {
        return new StartAt(Kind.TIMESTAMP, micros(time));
    }

    // Rounded up: a record of an earlier µs was pushed before the time.
    private static long micros(Instant time) {
        try {
            return ChronoUnit.MICROS.between(Instant.EPOCH, time.plusNanos(999).truncatedTo(ChronoUnit.MICROS));
        } catch (ArithmeticException | DateTimeException e) {
            return time.isBefore(Instant.EPOCH) ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
    }
}
