package org.mmapqueue.errors;

/** An offset outside of what the call can work on. Nothing was moved. */
public final class OutOfRangeException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private final long requested;
    private final long first;
    private final long last;

    /**
     * Makes the exception.
     *
     * @param what what the offset was for
     * @param requested the offset that was asked for
     * @param first the first offset that is possible
     * @param last the last offset that is possible; below {@code first} when none is
     */
    public OutOfRangeException(String what, long requested, long first, long last) {
        super(what + ": offset " + requested + " is out of range; available: "
                + (last < first ? "none" : first + ".." + last));
        this.requested = requested;
        this.first = first;
        this.last = last;
    }

    /**
     * What was asked for.
     *
     * @return the offset that was asked for
     */
    public long requested() {
        return requested;
    }

    /**
     * Where the range begins.
     *
     * @return the first possible offset
     */
    public long first() {
        return first;
    }

    /**
     * Where the range ends.
     *
     * @return the last possible offset
     */
    public long last() {
        return last;
    }
}
