package org.mmapqueue.errors;

/** Stored bytes differ from what was written. No byte was changed, and no wrong record was returned. */
public final class CorruptException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private final String file;
    private final long position;
    private final String detail;

    /**
     * Makes the exception.
     *
     * @param file the damaged file
     * @param position the byte in that file
     * @param detail what was found there, and what was expected
     */
    public CorruptException(String file, long position, String detail) {
        super(file + ", byte " + position + ": " + detail);
        this.file = file;
        this.position = position;
        this.detail = detail;
    }

    /** {@return the path of the damaged file} */
    public String file() {
        return file;
    }

    /** {@return the byte in {@link #file()} at which the damage is} */
    public long position() {
        return position;
    }

    /** {@return what was found there, and what was expected: the message without file and position} */
    public String detail() {
        return detail;
    }
}
