package org.mmapqueue.errors;

/** The queue, or the handle that was used, is closed. */
public final class ClosedException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what is closed
     */
    public ClosedException(String message) {
        super(message);
    }
}
