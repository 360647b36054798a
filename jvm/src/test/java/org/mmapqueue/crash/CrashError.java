package org.mmapqueue.crash;

/** A promise that was not kept. */
final class CrashError extends AssertionError {
    private static final long serialVersionUID = 1L;

    CrashError(String what) {
        super(what);
    }

    CrashError(String what, Throwable cause) {
        super(what, cause);
    }
}
