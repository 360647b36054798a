package org.mmapqueue.io;

import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waiting that no interrupt ends; an interrupt stays pending. */
public final class Threads {
    private static final Logger LOG = LoggerFactory.getLogger(Threads.class);

    private Threads() {}

    /** Sleeps, also in a thread with a pending interrupt, in which a park would return at once. */
    public static void pause(long nanos) {
        boolean interrupted = false;
        long end = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(Threads.class, left);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

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
        GuardedLog.log(() -> LOG.warn(
                "{} was interrupted by other code, and continues",
                Thread.currentThread().getName()));
    }
}
