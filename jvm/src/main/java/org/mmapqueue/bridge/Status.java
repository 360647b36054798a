package org.mmapqueue.bridge;

/** What a call answers in place of a count or an offset. All are negative. */
public final class Status {
    /** There is no room, and there was none for as long as the call was to wait. */
    public static final int FULL = -1;
    /** There is no record, and there was none for as long as the call was to wait. */
    public static final int EMPTY = -2;
    /** The queue is closed. */
    public static final int CLOSED = -3;
    /** The batch is in the queue already, or a later one of its producer. */
    public static final int DONE = -4;

    private Status() {}
}
