package org.mmapqueue.spark.events.wire;

/** Bytes are not what their format says. Carries no stack trace, as garbled records may come by the million. */
public final class MalformedException extends Exception {
    private static final long serialVersionUID = 1;

    private final int position;

    /**
     * @param what what is wrong
     * @param position the byte at which it is wrong, from the first of the record or payload
     */
    public MalformedException(String what, int position) {
        super(what + " at byte " + position, null, false, false);
        this.position = position;
    }

    /** The byte at which the input is wrong. */
    int position() {
        return position;
    }
}
