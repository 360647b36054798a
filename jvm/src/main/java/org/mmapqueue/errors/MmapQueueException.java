package org.mmapqueue.errors;

/** The root of all exceptions of a queue; thrown itself for an I/O error that leaves the queue usable. */
public class MmapQueueException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * An error with no cause of its own.
     *
     * @param message what went wrong, and where
     */
    public MmapQueueException(String message) {
        super(message);
    }

    /**
     * An error caused by another error, an I/O error as a rule.
     *
     * @param message what went wrong, and where
     * @param cause what caused it
     */
    public MmapQueueException(String message, Throwable cause) {
        super(message, cause);
    }
}
