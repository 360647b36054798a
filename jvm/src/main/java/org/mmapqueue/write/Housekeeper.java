package org.mmapqueue.write;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.mmapqueue.append.Appender;
import org.mmapqueue.config.Settings;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.io.Threads;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The background thread that keeps slow work off the path of a push: it evicts segments when the limit is reached, and
 * preallocates the next segments. The writer itself does whatever this thread has not done in time.
 */
public final class Housekeeper implements Appender.Ring, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Housekeeper.class);
    private static final long BYTES_AHEAD = 16L << 20;
    /** The pause after an error, such as a moment without memory. */
    private static final long PAUSE_NANOS = 100_000_000;

    private final Swapper swapper;
    private final RingSpace space;
    private final int ahead;
    private final int maxInMemSegments;
    private final long idleNanos;
    private final LongSupplier activity;
    private final Runnable whenIdle;
    private final long ageNanos;
    private final Runnable dropAged;
    private final Thread thread;
    private volatile long entered = -1;
    private volatile boolean stopped;
    private volatile boolean wanted;
    /** Whether slots are short because of unacked records, so that acks must wake this thread. */
    private volatile boolean awaitsSpace;

    private volatile long preallocatedTo = -1;
    private boolean complained;
    private long lastActivity = -1;
    private long activeAt;
    private boolean isIdle;
    private long agedAt;

    /**
     * What runs once when the queue becomes idle.
     *
     * @param millis ms without a change of {@code activity} after which {@code work} runs once; 0 for never
     */
    record Idle(long millis, LongSupplier activity, Runnable work) {}

    /**
     * What runs again and again.
     *
     * @param millis ms between runs; 0 for none
     */
    record Periodic(long millis, Runnable work) {}

    /** A housekeeper that is not running yet. */
    Housekeeper(String name, Swapper swapper, RingSpace space, Settings settings, Idle idle, Periodic aged) {
        this.swapper = swapper;
        this.space = space;
        this.maxInMemSegments = settings.maxInMemSegments();
        Geometry geometry = settings.geometry();
        long byBytes = Math.max(2, BYTES_AHEAD / geometry.segmentSize());
        this.ahead = (int) Math.min(Math.max(1, maxInMemSegments / 2 - 1), Math.min(byBytes, geometry.capacity() - 1L));
        this.idleNanos = TimeUnit.MILLISECONDS.toNanos(idle.millis);
        this.activity = idle.activity;
        this.whenIdle = idle.work;
        this.ageNanos = TimeUnit.MILLISECONDS.toNanos(aged.millis);
        this.dropAged = aged.work;
        this.agedAt = System.nanoTime();
        this.thread = new Thread(this::run, name);
        this.thread.setDaemon(true);
    }

    public void start() {
        thread.start();
    }

    @Override
    public boolean tryFree(long segmentId) {
        boolean isFree = space.tryFree(segmentId);
        if (space.hasToTell()) {
            wake(); // the appender is locked here
        }
        return isFree;
    }

    @Override
    public void entered(long segmentId) {
        entered = segmentId;
        // Waking a thread costs more than preallocating a small segment, so it is woken when half of them are used
        // up.
        if (preallocatedTo - segmentId <= ahead / 2 || swapper.isFull()) {
            wake();
        }
    }

    /**
     * Notes that slots may have become free. Wakes the thread only if it awaits them: a wake-up per ack would cost the
     * consumer more than its reading.
     */
    void onSpace() {
        if (awaitsSpace || swapper.isFull()) {
            wake();
        }
    }

    private void wake() {
        if (!wanted) {
            wanted = true;
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!stopped) {
            long nap;
            try {
                nap = round();
            } catch (RuntimeException | Error e) {
                complain("the housekeeper failed, and continues", e);
                nap = PAUSE_NANOS;
            }
            if (nap == Long.MAX_VALUE) {
                LockSupport.park(this);
            } else if (nap > 0) {
                LockSupport.parkNanos(this, nap);
            }
            Threads.dropInterrupt();
        }
    }

    // Returns the time in ns until the next round.
    private long round() {
        if (wanted) {
            wanted = false;
            step();
            untilAged();
            return 0;
        }
        return Math.min(idleNanos == 0 ? Long.MAX_VALUE : runWhenIdle(), untilAged());
    }

    private void complain(String what, Throwable cause) {
        if (!complained) {
            complained = true;
            GuardedLog.log(() -> LOG.warn("{}: {}", what, cause.toString()));
        }
    }

    // Returns the time in ns until the next check for records that are too old.
    private long untilAged() {
        if (ageNanos == 0) {
            return Long.MAX_VALUE;
        }
        long left = agedAt + ageNanos - System.nanoTime();
        if (left <= 0) {
            dropAged.run();
            agedAt = System.nanoTime();
            left = ageNanos;
        }
        return left;
    }

    private long runWhenIdle() {
        long now = System.nanoTime();
        long seen = activity.getAsLong();
        if (seen != lastActivity) {
            lastActivity = seen;
            activeAt = now;
            isIdle = false;
        }
        long left = idleNanos - (now - activeAt);
        if (left <= 0 && !isIdle) {
            isIdle = true;
            try {
                whenIdle.run();
            } catch (RuntimeException e) {
                LOG.warn("the gc of the idle queue failed: {}", e.toString());
            }
        }
        return left > 0 ? left : idleNanos;
    }

    /** Runs one round: evicts, makes slots free, preallocates, and logs what was dropped. */
    public void step() {
        try {
            swapper.evictWhenFull();
            long tail = entered;
            // Set before the slots are checked, so that no ack during the check is missed.
            awaitsSpace = true;
            boolean isShort = tail >= 0 && space.freeAhead(tail);
            // Segments that were filled but not mapped because of the limit are visited again, the others are not.
            long first = swapper.mapped() < maxInMemSegments ? tail + 1 : Math.max(tail, preallocatedTo) + 1;
            for (long id = first; id <= tail + ahead && !stopped; id++) {
                // At most one generation ahead: the slot of the tail itself is never free.
                if (tail < 0 || !space.tryFree(id)) {
                    return;
                }
                swapper.preallocate(id);
                preallocatedTo = id;
            }
            awaitsSpace = isShort;
            complained = false;
        } catch (IOException | RuntimeException e) {
            complain("segments could not be preallocated; the next push tries it again", e);
        } finally {
            space.tell();
        }
    }

    @Override
    public void close() {
        stopped = true;
        LockSupport.unpark(thread);
        Threads.join(thread);
    }
}
