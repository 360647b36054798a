package org.mmapqueue.flush;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;

/** Whether fsyncs are allowed: not after a failure, and not after the end. Safe for any number of threads. */
final class FlusherState {
    private volatile boolean ended;
    private volatile Throwable failure;

    /** The first failure, or null. */
    Throwable failure() {
        return failure;
    }

    /** Stores a failure; the first one remains. */
    void poison(Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
    }

    /** From now on {@link #check} throws ClosedException. */
    void end() {
        ended = true;
    }

    /** Throws ClosedException after the end, PoisonedException after a failure. */
    void check() {
        if (ended) {
            throw new ClosedException("the queue is closed");
        }
        throwIfPoisoned();
    }

    /** Throws PoisonedException after a failure. */
    void throwIfPoisoned() {
        Throwable cause = failure;
        if (cause != null) {
            throw new PoisonedException(
                    "an earlier failure makes the writer unsafe; close the queue and open it again: " + cause, cause);
        }
    }
}
