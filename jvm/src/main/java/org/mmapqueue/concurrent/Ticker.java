package org.mmapqueue.concurrent;

import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.io.Threads;

/**
 * Counts milliseconds, for callers that would otherwise read the clock at each call: while the count is unchanged, a
 * time read before is at most about 1 ms old. It counts for a while after {@link #want}; then its thread sleeps, and
 * later ends. Safe for any number of threads.
 */
public class Ticker {
    /** Value of {@link #ticks} while nothing is counted. */
    public static final long STOPPED = -1;
    /** The ticker of this process, for all queues. */
    public static final Ticker SHARED = new Ticker(TimeUnit.SECONDS.toNanos(10));

    private static final int MOST_UNWANTED = 100;
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long lingerNanos;
    private final AtomicReference<Thread> runner = new AtomicReference<>();
    private volatile long ticks = STOPPED;
    private volatile boolean wanted;
    /** Number of ticks ever counted, so that no count repeats. Accessed by the running thread alone. */
    private long count;

    /**
     * Makes a stopped ticker.
     *
     * @param lingerNanos time in ns without {@link #want} after which the thread ends
     */
    public Ticker(long lingerNanos) {
        this.lingerNanos = lingerNanos;
    }

    /** Number of ticks so far, of about 1 ms each; {@link #STOPPED} while stopped. */
    public long ticks() {
        return ticks;
    }

    /** Requests ticks: counting starts soon, and continues for some ms. */
    public void want() {
        if (wanted) {
            return;
        }
        StackRoom.ensure(); // before wanted is set: no later call would wake the thread
        wanted = true;
        // The thread stores STOPPED, then loads wanted; here wanted is stored first, so one of the two sees the other.
        if (ticks == STOPPED) {
            Thread asleep = runner.get();
            if (asleep == null) {
                start();
            } else {
                LockSupport.unpark(asleep);
            }
        }
    }

    private void start() {
        try {
            Thread thread = new Thread(null, this::run, "mmapqueue-ticker", 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            if (runner.compareAndSet(null, thread)) {
                thread.start();
            }
        } catch (OutOfMemoryError e) {
            // No thread could be started: callers read the clock themselves from now on. A retry at each push would be
            // slow.
        }
    }

    private void run() {
        Thread self = Thread.currentThread();
        try {
            do {
                count();
                runner.set(null);
                // A concurrent want() may have seen this thread as running, and rely on it.
            } while (wanted && runner.compareAndSet(null, self));
        } finally {
            // Also after an OutOfMemoryError: a count that stays unchanged would freeze the callers' time.
            ticks = STOPPED;
            runner.compareAndSet(self, null);
        }
    }

    /** Returns after {@code lingerNanos} without {@link #want}. */
    private void count() {
        int unwanted = 0;
        while (true) {
            if (wanted) {
                wanted = false;
                unwanted = 0;
            } else if (++unwanted > MOST_UNWANTED) {
                ticks = STOPPED;
                if (!sleptUntilWanted()) {
                    return;
                }
                continue;
            }
            ticks = ++count;
            // Sleeps to the start of the next ms, when the system clock changes.
            LockSupport.parkNanos(this, MILLI_NANOS - Instant.now().getNano() % MILLI_NANOS);
            Threads.dropInterrupt();
        }
    }

    private boolean sleptUntilWanted() {
        long end = System.nanoTime() + lingerNanos;
        for (long left = lingerNanos; !wanted && left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(this, left);
            Threads.dropInterrupt();
        }
        return wanted;
    }
}
