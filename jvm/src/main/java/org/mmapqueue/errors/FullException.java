package org.mmapqueue.errors;

/**
 * There is no room for the record: the slowest consumer, which the message names, has not acked enough, or there is no
 * consumer. Nothing was stored.
 */
public final class FullException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what was refused, and why
     */
    public FullException(String message) {
        super(message);
    }
}
