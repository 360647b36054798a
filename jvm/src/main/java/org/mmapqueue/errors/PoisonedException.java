package org.mmapqueue.errors;

/**
 * An earlier failure (an fsync that failed, a store that failed half way) means that the writer can not be trusted any
 * more: every later push and flush raises this. Close the queue and open it again; it recovers.
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
