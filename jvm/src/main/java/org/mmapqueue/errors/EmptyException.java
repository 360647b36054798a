package org.mmapqueue.errors;

/** There is nothing to pop. */
public final class EmptyException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which consumer has nothing to pop
     */
    public EmptyException(String message) {
        super(message);
    }
}
