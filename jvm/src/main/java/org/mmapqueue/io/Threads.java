package org.mmapqueue.io;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Helpers for background threads. */
public final class Threads {
    private static final Logger LOG = LoggerFactory.getLogger(Threads.class);

    private Threads() {}

    /** Waits until a thread has ended, if it was started. An interrupt of the caller stays pending. */
    public static void join(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Drops a pending interrupt of this thread, which is one of the library's own, and logs it. A pending interrupt
     * would end each wait at once.
     */
    public static void dropInterrupt() {
        if (Thread.interrupted()) {
            wasInterrupted();
        }
    }

    /** Logs that an interrupt of this thread, which is one of the library's own, was dropped. */
    public static void wasInterrupted() {
        LOG.warn(
                "{} was interrupted by other code, and continues",
                Thread.currentThread().getName());
    }
}
