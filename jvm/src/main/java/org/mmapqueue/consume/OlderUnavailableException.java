package org.mmapqueue.consume;

import org.jspecify.annotations.Nullable;
import org.mmapqueue.errors.MmapQueueException;

/** The archive that has the next record cannot be read at present. The call may be repeated. */
public final class OlderUnavailableException extends MmapQueueException {
    private static final long serialVersionUID = 1L;

    OlderUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
