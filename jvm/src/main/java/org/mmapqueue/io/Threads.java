package org.mmapqueue.io;

/** Helpers for background threads. */
public final class Threads {
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
}
