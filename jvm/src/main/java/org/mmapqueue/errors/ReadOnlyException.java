package org.mmapqueue.errors;

/** The queue was opened read-only: this handle, or this process, cannot write records. Nothing was stored. */
public final class ReadOnlyException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message which queue, and how it was opened
     */
    public ReadOnlyException(String message) {
        super(message);
    }
}
