package org.mmapqueue.errors;

/**
 * An fsync or an append has failed, and the writer cannot be trusted any more. Every push and every flush throws this
 * exception. Close the queue and open it again: the open recovers.
 */
public final class PoisonedException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what had failed
     * @param cause the first failure
     */
    public PoisonedException(String message, Throwable cause) {
        super(message, cause);
    }
}
