package org.mmapqueue.errors;

/** A consumer has popped max_unacked records beyond its first one that is not acked. It goes on once that is acked. */
public final class UnackedLimitException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what was refused, and why
     */
    public UnackedLimitException(String message) {
        super(message);
    }
}
