package org.mmapqueue;

/**
 * A place in a queue: where a new consumer begins, or where one goes that is there. Immutable.
 *
 * @param kind what says the place
 * @param value the offset, or the time in µs since 1970; 0 for the others
 */
public record StartAt(Kind kind, long value) {

    /** What says a place. */
    public enum Kind {
        /** The oldest record that is retained. */
        EARLIEST,
        /** Behind the last record. */
        LATEST,
        /** The consumer's first record that is not acked; not for a new consumer. */
        COMMITTED,
        /** A record, by its number. */
        OFFSET,
        /** A record, by the time at which it was pushed. */
        TIMESTAMP
    }

    /** The oldest record that is retained: without retention, the oldest that some consumer has not acked. */
    public static final StartAt EARLIEST = new StartAt(Kind.EARLIEST, 0);
    /** The next record that is pushed. */
    public static final StartAt LATEST = new StartAt(Kind.LATEST, 0);
    /** The consumer's first record that is not acked. For seek alone: a new consumer has none. */
    public static final StartAt COMMITTED = new StartAt(Kind.COMMITTED, 0);

    /**
     * A record by its number.
     *
     * @param offset the offset; the end offset stands for the next record that is pushed
     * @return the place
     */
    public static StartAt offset(long offset) {
        return new StartAt(Kind.OFFSET, offset);
    }

    /**
     * The first record that was pushed at a time or later; the end of the queue when there is none.
     *
     * @param micros the time, µs since 1970
     * @return the place
     */
    public static StartAt timestamp(long micros) {
        return new StartAt(Kind.TIMESTAMP, micros);
    }
}
