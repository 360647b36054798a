package org.mmapqueue.consume;

import java.io.IOException;

/** The next record is in the archive, and not in memory yet. The caller waits for it without the consumer's lock. */
final class NotLoadedException extends IOException {
    private static final long serialVersionUID = 1L;

    NotLoadedException(long offset) {
        super("record " + offset + " is in the archive, and not in memory yet");
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
        return this; // caught by the caller, each time
    }
}
