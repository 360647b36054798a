package org.mmapqueue.errors;

import org.jspecify.annotations.Nullable;

/** The next record of a consumer is in an archive that cannot be read at present. The call may be repeated. */
public final class ArchiveUnavailableException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message who needs which record, and why it cannot be read
     * @param cause what caused it; null if the archive has not answered
     */
    public ArchiveUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
