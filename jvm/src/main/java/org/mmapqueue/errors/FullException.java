package org.mmapqueue.errors;

/**
 * The ring has no space for the record: the slowest consumer, which the message names, has not acked enough, or there
 * is no consumer. Nothing was stored.
 */
public final class FullException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message what holds the ring
     */
    public FullException(String message) {
        super(message);
    }
}
