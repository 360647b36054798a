package org.mmapqueue.flush;

import java.util.concurrent.atomic.AtomicReference;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;

/** Whether fsyncs are allowed: not after a failure, and not after the end. Safe for any number of threads. */
final class FlusherState {
    private volatile boolean ended;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    /** The first failure, or null. */
    Throwable failure() {
        return failure.get();
    }

    /** Stores a failure; the first one remains. */
    void poison(Throwable cause) {
        failure.compareAndSet(null, cause);
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
        Throwable cause = failure.get();
        if (cause != null) {
            throw new PoisonedException(
                    "an earlier failure makes the writer unsafe; close the queue and open it again: " + cause, cause);
        }
    }
}
