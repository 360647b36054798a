package org.mmapqueue.concurrent;

import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.io.StackRoom;

/**
 * Counts ms, for those who would otherwise ask the system for the time again and again: as long as the count stays the
 * same, what they were told is not much more than a ms old. It counts only while somebody {@linkplain #want wants} it
 * to; when nobody has for a while the thread sleeps, and after a longer while it ends. Safe for any number of threads.
 */
public class Ticker {
    /** What {@link #ticks} is while nothing is counted. */
    public static final long STOPPED = -1;
    /** The one of this process, for all queues. */
    public static final Ticker SHARED = new Ticker(TimeUnit.SECONDS.toNanos(10));

    private static final int MOST_UNWANTED = 100;
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final long lingerNanos;
    private final AtomicReference<Thread> runner = new AtomicReference<>();
    private volatile long ticks = STOPPED;
    private volatile boolean wanted;
    /** Ticks ever counted, by whichever thread: no count comes back. The runner's. */
    private long count;

    /**
     * One that stands still.
     *
     * @param lingerNanos when nobody has wanted it for so long, in ns, its thread ends
     */
    public Ticker(long lingerNanos) {
        this.lingerNanos = lingerNanos;
    }

    /** Ticks up to now, of about a ms each; {@link #STOPPED} while nobody counts. */
    public long ticks() {
        return ticks;
    }

    /** Lets it count for some ms from now on, soon. */
    public void want() {
        if (wanted) {
            return;
        }
        StackRoom.ensure(); // nobody else would wake it
        wanted = true;
        // Who stops says so first, and looks whether somebody wants it then; here it is the other way round.
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
            // No thread is to be had. Everybody asks the system then, for good: who tried again would pay for it.
        }
    }

    private void run() {
        Thread self = Thread.currentThread();
        try {
            do {
                count();
                runner.set(null);
                // Somebody may have found this thread a moment ago, and count on it.
            } while (wanted && runner.compareAndSet(null, self));
        } finally {
            // Where memory has run out, too: a count that stands still would keep the time from going on.
            ticks = STOPPED;
            runner.compareAndSet(self, null);
        }
    }

    /** Returns when nobody has wanted it for long. */
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
            // To the beginning of the next ms, where the clock that it stands for changes.
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
