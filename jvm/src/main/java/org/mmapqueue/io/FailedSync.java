package org.mmapqueue.io;

import java.io.IOException;

/** The kernel has reported that an fsync failed. It reports that once: an fsync that is repeated proves nothing. */
final class FailedSync extends IOException {
    private static final long serialVersionUID = 1L;

    FailedSync(IOException cause) {
        super(cause.getMessage(), cause);
    }
}
