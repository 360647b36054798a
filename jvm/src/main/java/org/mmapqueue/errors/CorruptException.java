package org.mmapqueue.errors;

/** What is stored is not what was written. No byte was changed, and nothing wrong was returned. */
public final class CorruptException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    private final String file;
    private final long position;

    /**
     * Makes the exception.
     *
     * @param file the damaged file
     * @param position the place in that file, in bytes from its beginning
     * @param detail what was found there, and what was expected
     */
    public CorruptException(String file, long position, String detail) {
        super(file + ", byte " + position + ": " + detail);
        this.file = file;
        this.position = position;
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
     * The place of the damage.
     *
     * @return bytes from the beginning of {@link #file()}
     */
    public long position() {
        return position;
    }
}
