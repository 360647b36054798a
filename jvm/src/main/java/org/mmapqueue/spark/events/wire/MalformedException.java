package org.mmapqueue.spark.events.wire;

/** Bytes do not match their format. Has no stack trace, because millions of records may be malformed. */
public final class MalformedException extends Exception {
    private static final long serialVersionUID = 1;

    private final int position;

    /**
     * @param what the error
     * @param position the position of the error, in bytes from the start of the record or payload
     */
    public MalformedException(String what, int position) {
        super(what + " at byte " + position, null, false, false);
        this.position = position;
    }

    /** The position of the error, in bytes. */
    int position() {
        return position;
    }
}
