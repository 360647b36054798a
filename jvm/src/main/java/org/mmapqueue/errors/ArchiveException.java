package org.mmapqueue.errors;

/**
 * An archive is inconsistent, or belongs to another queue or host: runs that overlap, records that no run has, a
 * partition that another host ships, an unknown version. Nothing was changed.
 */
public final class ArchiveException extends MmapQueueException {
    private static final long serialVersionUID = 2L;

    private final long missingTo;

    /**
     * Makes the exception.
     *
     * @param message what was found where, and what was expected
     */
    public ArchiveException(String message) {
        this(message, -1);
    }

    /**
     * Makes the exception.
     *
     * @param message what was found where, and what was expected
     * @param cause what caused it
     */
    public ArchiveException(String message, Throwable cause) {
        super(message, cause);
        this.missingTo = -1;
    }

    /**
     * Makes the exception for records that no file of the archive has.
     *
     * @param message what was found where, and what was expected
     * @param missingTo the offset after the last missing record
     */
    public ArchiveException(String message, long missingTo) {
        super(message);
        this.missingTo = missingTo;
    }

    /** {@return the offset after the records that no file of the archive has; -1 if that is not the reason} */
    public long missingTo() {
        return missingTo;
    }
}
