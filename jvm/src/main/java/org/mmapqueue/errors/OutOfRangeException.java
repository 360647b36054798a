package org.mmapqueue.errors;

/** An offset that the call cannot work on. The call had no effect. */
public final class OutOfRangeException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private final long requested;
    private final long first;
    private final long last;

    /**
     * Makes the exception.
     *
     * @param what the call that got the offset
     * @param requested the requested offset
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

    /** {@return the requested offset} */
    public long requested() {
        return requested;
    }

    /** {@return the first possible offset} */
    public long first() {
        return first;
    }

    /** {@return the last possible offset; below {@link #first} if none is possible} */
    public long last() {
        return last;
    }
}
