package org.mmapqueue.consume;

/**
 * State and attempts of the records between a consumer's committed and reading position, two bytes for each. Not
 * thread-safe: the consumer's lock guards it.
 */
final class Window {
    /** Popped, and neither acked nor requeued. */
    static final int IN_FLIGHT = 0;
    /** To be redelivered. */
    static final int REQUEUED = 1;
    /** Acked, while a record before it is not. */
    static final int ACKED = 2;
    /** To be moved to the dead-letter queue. */
    static final int DEAD = 3;

    private static final int STATE_SHIFT = 14;
    /** The highest number of attempts that is counted. */
    static final int MOST_ATTEMPTS = (1 << STATE_SHIFT) - 1;

    private static final int FIRST_LENGTH = 64;

    private final int most;
    private short[] records = new short[FIRST_LENGTH];
    private long first;
    private long next;
    private int acked;
    private int requeued;

    /** Makes a window of at most {@code most} records. */
    Window(int most) {
        this.most = most;
    }

    /** Empties the window; {@code offset} is the next record to pop. */
    void reset(long offset) {
        first = offset;
        next = offset;
        acked = 0;
        requeued = 0;
    }

    /** The offset of the first record that is not acked. */
    long first() {
        return first;
    }

    /** The offset of the next record that is popped for the first time. */
    long next() {
        return next;
    }

    /** The capacity in records. */
    int most() {
        return most;
    }

    /** Whether no new record can be popped before the first one is acked. */
    boolean isFull() {
        return next - first >= most;
    }

    /** Number of records that were popped, and neither acked nor requeued. */
    int unacked() {
        return (int) (next - first) - acked - requeued;
    }

    /** Number of requeued records. */
    int requeued() {
        return requeued;
    }

    boolean contains(long offset) {
        return offset >= first && offset < next;
    }

    /** The state of a record; {@link #ACKED} before the window. */
    int state(long offset) {
        return offset < first ? ACKED : (records[at(offset)] & 0xFFFF) >>> STATE_SHIFT;
    }

    /** Number of times that a record in the window was popped. */
    int attempts(long offset) {
        return records[at(offset)] & MOST_ATTEMPTS;
    }

    /** Adds the next record. Attempts are capped at the highest number that the record's two bytes hold. */
    void add(int state, int attempts) {
        if (next - first == records.length) {
            grow();
        }
        records[at(next++)] = packed(state, Math.min(MOST_ATTEMPTS, attempts));
        if (state != IN_FLIGHT) {
            count(state, 1);
        }
    }

    /** Marks a requeued record as in flight again. */
    void redelivered(long offset) {
        int attempts = Math.min(MOST_ATTEMPTS, attempts(offset) + 1);
        mark(offset, IN_FLIGHT);
        records[at(offset)] = packed(IN_FLIGHT, attempts);
    }

    /** Requeues a record without counting this attempt. */
    void released(long offset) {
        int attempts = attempts(offset) - 1;
        mark(offset, REQUEUED);
        records[at(offset)] = packed(REQUEUED, attempts);
    }

    /** Sets the state of a record in the window. */
    void mark(long offset, int state) {
        count(state(offset), -1);
        records[at(offset)] = packed(state, attempts(offset));
        count(state, 1);
    }

    private void count(int state, int change) {
        if (state == ACKED) {
            acked += change;
        } else if (state == REQUEUED) {
            requeued += change;
        }
    }

    /** Removes all records before {@code offset}, and the acked ones from there; returns the new first record. */
    long advance(long offset) {
        if (acked == 0 && requeued == 0) {
            first = Math.max(first, offset);
            return first;
        }
        while (first < offset) {
            count(state(first), -1);
            first++;
        }
        while (first < next && state(first) == ACKED) {
            acked--;
            first++;
        }
        return first;
    }

    private static short packed(int state, int attempts) {
        return (short) (state << STATE_SHIFT | attempts);
    }

    private int at(long offset) {
        return (int) offset & records.length - 1;
    }

    private void grow() {
        short[] old = records;
        short[] more = new short[old.length * 2];
        for (long offset = first; offset < next; offset++) {
            more[(int) offset & more.length - 1] = old[(int) offset & old.length - 1];
        }
        records = more;
    }
}
