package org.mmapqueue.consume;

/**
 * What has become of the records between a consumer's committed and its reading position: two bytes for each. Not
 * thread-safe: the consumer's claim guards it.
 */
final class Window {
    /** Popped, and neither acked nor given back. */
    static final int OUT = 0;
    /** Given back, to be popped again. */
    static final int RETURNED = 1;
    /** Dealt with, while one before it is not. */
    static final int ACKED = 2;
    /** On its way to the dead-letter queue. */
    static final int DYING = 3;

    private static final int STATE_SHIFT = 14;
    private static final int MOST_ATTEMPTS = (1 << STATE_SHIFT) - 1;
    private static final int FIRST_LENGTH = 64;

    private final int most;
    private short[] records = new short[FIRST_LENGTH];
    private long first;
    private long next;
    private int acked;
    private int returned;

    /** A window of at most {@code most} records. */
    Window(int most) {
        this.most = most;
    }

    /** Forgets all; {@code offset} is popped next. */
    void reset(long offset) {
        first = offset;
        next = offset;
        acked = 0;
        returned = 0;
    }

    /** The first record that is not acked. */
    long first() {
        return first;
    }

    /** The record that is popped next for the first time. */
    long next() {
        return next;
    }

    /** The most records that it takes. */
    int most() {
        return most;
    }

    /** Whether no record can be popped for the first time before the first one is acked. */
    boolean isFull() {
        return next - first >= most;
    }

    /** Records that were popped and not acked. */
    int unacked() {
        return (int) (next - first) - acked;
    }

    /** Records that were given back and not popped again. */
    int returned() {
        return returned;
    }

    boolean contains(long offset) {
        return offset >= first && offset < next;
    }

    /** What has become of a record; {@link #ACKED} for those before the window. */
    int state(long offset) {
        return offset < first ? ACKED : (records[at(offset)] & 0xFFFF) >>> STATE_SHIFT;
    }

    /** How often a record in the window has been popped. */
    int attempts(long offset) {
        return records[at(offset)] & MOST_ATTEMPTS;
    }

    /** Takes the next record in; more attempts than two bytes hold are counted as the most that they hold. */
    void add(int state, int attempts) {
        if (next - first == records.length) {
            grow();
        }
        records[at(next++)] = packed(state, Math.min(MOST_ATTEMPTS, attempts));
        if (state != OUT) {
            count(state, 1);
        }
    }

    /** A record that was given back has been popped again. */
    void poppedAgain(long offset) {
        int attempts = Math.min(MOST_ATTEMPTS, attempts(offset) + 1);
        mark(offset, OUT);
        records[at(offset)] = packed(OUT, attempts);
    }

    /** A record is given back as if it had not been popped this time. */
    void unpopped(long offset) {
        int attempts = attempts(offset) - 1;
        mark(offset, RETURNED);
        records[at(offset)] = packed(RETURNED, attempts);
    }

    /** Something has become of a record in the window. */
    void mark(long offset, int state) {
        count(state(offset), -1);
        records[at(offset)] = packed(state, attempts(offset));
        count(state, 1);
    }

    private void count(int state, int change) {
        if (state == ACKED) {
            acked += change;
        } else if (state == RETURNED) {
            returned += change;
        }
    }

    /** Lets everything before {@code offset} go, and what is acked without a gap from there; the new first record. */
    long advance(long offset) {
        if (acked == 0 && returned == 0) {
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
