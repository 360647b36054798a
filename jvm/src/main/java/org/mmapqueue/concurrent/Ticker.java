package org.mmapqueue.concurrent;

import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.io.StackRoom;

/**
 * Counts milliseconds, for callers that would otherwise read the clock at each call: while the count is unchanged, a
 * time read before is about 1 ms old at most. It counts for a while after {@link #want}; then its thread sleeps, and
 * later ends. Safe for any number of threads.
 */
public class Ticker {
    /** What {@link #ticks} is while nothing is counted. */
    public static final long STOPPED = -1;
    /** The ticker of this process, for all queues. */
    public static final Ticker SHARED = new Ticker(TimeUnit.SECONDS.toNanos(10));

    private static final int MOST_UNWANTED = 100;
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long lingerNanos;
    private final AtomicReference<Thread> runner = new AtomicReference<>();
    private volatile long ticks = STOPPED;
    private volatile boolean wanted;
    /** Ticks ever counted, by all threads: no count repeats. The runner's. */
    private long count;

    /**
     * A stopped ticker.
     *
     * @param lingerNanos ns without {@link #want} after which the thread ends
     */
    public Ticker(long lingerNanos) {
        this.lingerNanos = lingerNanos;
    }

    /** Ticks up to now, of about 1 ms each; {@link #STOPPED} while stopped. */
    public long ticks() {
        return ticks;
    }

    /** Starts counting soon, for some ms from now on. */
    public void want() {
        if (wanted) {
            return;
        }
        StackRoom.ensure(); // no later call would wake it
        wanted = true;
        // The runner stores STOPPED, then loads wanted; here the store of wanted comes first.
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
            // No thread: callers read the clock themselves from now on. A retry at each push would be slow.
        }
    }

    private void run() {
        Thread self = Thread.currentThread();
        try {
            do {
                count();
                runner.set(null);
                // want() may have found this thread a moment ago, and rely on it.
            } while (wanted && runner.compareAndSet(null, self));
        } finally {
            // Also after an OutOfMemoryError: an unchanging count would stop the time.
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
            // To the beginning of the next ms, where the system clock changes.
            LockSupport.parkNanos(this, MILLI_NANOS - Instant.now().getNano() % MILLI_NANOS);
        }
    }

    private boolean sleptUntilWanted() {
        long end = System.nanoTime() + lingerNanos;
        for (long left = lingerNanos; !wanted && left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(this, left);
        }
        return wanted;
    }
}
