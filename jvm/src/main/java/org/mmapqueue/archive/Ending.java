package org.mmapqueue.archive;

import java.time.Duration;

/** Ends a thread that may hang in a file system. */
final class Ending {
    /** The longest wait after an interrupt. */
    private static final long MOST_MILLIS = 1_000;

    private Ending() {}

    /**
     * Waits for a thread, then interrupts it; returns whether the thread has ended. An interrupt of the caller stays
     * pending.
     */
    static boolean join(Thread thread, Duration most) {
        boolean interrupted = false;
        try {
            if (!most.isZero()) {
                thread.join(most.toMillis());
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        try {
            if (thread.isAlive()) {
                thread.interrupt();
                thread.join(MOST_MILLIS);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return !thread.isAlive();
    }
}
