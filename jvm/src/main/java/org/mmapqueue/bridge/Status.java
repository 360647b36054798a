package org.mmapqueue.bridge;

/** Outcomes that a call returns instead of a count or an offset. All are negative. */
public final class Status {
    /** No room became free within the wait. */
    public static final int FULL = -1;
    /** No record became available within the wait, or none exists. */
    public static final int EMPTY = -2;
    /** The queue or the consumer is closed. */
    public static final int CLOSED = -3;
    /** The queue already has this batch, or a later one, of its producer. */
    public static final int DONE = -4;

    private Status() {}
}
