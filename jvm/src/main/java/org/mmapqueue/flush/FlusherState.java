package org.mmapqueue.flush;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;

/** Whether anything may still be fsynced: not after a failure, and not after the end. Any number of threads. */
final class FlusherState {
    private volatile boolean ended;
    private volatile Throwable failure;

    /** The first failure, or null. */
    Throwable failure() {
        return failure;
    }

    /** There was a failure; the first one stays. */
    void poison(Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
    }

    /** From now on {@link #check} raises ClosedException. */
    void end() {
        ended = true;
    }

    /** Raises ClosedException after the end, PoisonedException after a failure. */
    void check() {
        if (ended) {
            throw new ClosedException("the queue is closed");
        }
        throwIfPoisoned();
    }

    /** Raises PoisonedException after a failure. */
    void throwIfPoisoned() {
        Throwable cause = failure;
        if (cause != null) {
            throw new PoisonedException(
                    "an earlier failure makes the writer unsafe; close the queue and open it again:" + " " + cause,
                    cause);
        }
    }
}
