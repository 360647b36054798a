package org.mmapqueue.errors;

/**
 * A consumer has popped max_unacked records beyond its first unacked one. Acking that record makes pops possible again.
 */
public final class UnackedLimitException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which consumer has reached the limit, and where
     */
    public UnackedLimitException(String message) {
        super(message);
    }
}
