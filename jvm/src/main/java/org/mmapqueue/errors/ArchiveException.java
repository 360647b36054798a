package org.mmapqueue.errors;

/**
 * An archive is inconsistent, or belongs to another queue or host: runs that overlap or leave a gap, a partition that
 * another host ships, an unknown version. Nothing was changed.
 */
public final class ArchiveException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what was found where, and what was expected
     */
    public ArchiveException(String message) {
        super(message);
    }

    /**
     * Makes the exception.
     *
     * @param message what was found where, and what was expected
     * @param cause what caused it
     */
    public ArchiveException(String message, Throwable cause) {
        super(message, cause);
    }
}
