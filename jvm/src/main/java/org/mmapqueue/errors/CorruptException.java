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

    /**
     * The damaged file.
     *
     * @return its path
     */
    public String file() {
        return file;
    }

    /**
     * The position of the damage.
     *
     * @return the byte in {@link #file()}
     */
    public long position() {
        return position;
    }

    /**
     * What was found there, and what was expected.
     *
     * @return the message without file and position
     */
    public String detail() {
        return detail;
    }
}
