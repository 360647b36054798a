package org.mmapqueue.errors;

/** A record is larger than max_event_size, or a batch larger than the ring. Nothing was stored. */
public final class TooLargeException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message the size, and the limit
     */
    public TooLargeException(String message) {
        super(message);
    }
}
