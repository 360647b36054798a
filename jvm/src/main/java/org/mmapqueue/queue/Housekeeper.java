package org.mmapqueue.queue;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.mmapqueue.io.Threads;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.swap.Swapper;

/**
 * The background thread that keeps work off the writer's path: it displaces segments when the limit is reached, and
 * fills and maps the segments that the writer will enter next. What it does not get done, the writer does itself.
 */
final class Housekeeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Housekeeper.class);
    private static final long BYTES_AHEAD = 16L << 20;

    private final Swapper swapper;
    private final Appender.Ring ring;
    private final int ahead;
    private final int maxInMemSegments;
    private final Thread thread;
    private volatile long entered = -1;
    private volatile boolean stopped;
    private volatile boolean wanted;
    private volatile long preparedTo = -1;
    private boolean complained;

    Housekeeper(String name, Swapper swapper, Appender.Ring ring, Geometry geometry, int maxInMemSegments) {
        this.swapper = swapper;
        this.ring = ring;
        this.maxInMemSegments = maxInMemSegments;
        long byBytes = Math.max(2, BYTES_AHEAD / geometry.segmentSize());
        this.ahead = (int) Math.min(Math.max(1, maxInMemSegments / 2 - 1), Math.min(byBytes, geometry.capacity() - 1L));
        this.thread = new Thread(this::run, name);
        this.thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** The writer is in this segment now. */
    void entered(long segmentId) {
        entered = segmentId;
        // Waking a thread costs more than preparing a small segment: only when half of those ahead are used up.
        if (preparedTo - segmentId <= ahead / 2 || swapper.isFull()) {
            wake();
        }
    }

    /** There may be something to do: the writer has moved, or space has become free. */
    void wake() {
        if (!wanted) {
            wanted = true;
            LockSupport.unpark(thread);
        }
    }

    private void run() {
        while (!stopped) {
            if (wanted) {
                wanted = false;
                step();
            } else {
                LockSupport.park(this);
            }
        }
    }

    /** Does what there is to do. */
    void step() {
        try {
            swapper.displaceWhenFull();
            long tail = entered;
            if (tail >= 0) {
                ring.freeAhead(tail);
            }
            // Those that the limit has kept from being mapped are gone through again, the others are not.
            long first = swapper.mapped() < maxInMemSegments ? tail + 1 : Math.max(tail, preparedTo) + 1;
            for (long id = first; id <= tail + ahead && !stopped; id++) {
                // Not further than a lap from the tail: its own slot is never free.
                if (tail < 0 || !ring.isFree(id)) {
                    return;
                }
                swapper.prepare(id);
                preparedTo = id;
            }
            complained = false;
        } catch (IOException | RuntimeException e) {
            if (!complained) {
                complained = true;
                LOG.warn("preparing segments ahead failed; the next push tries it itself: {}", e.toString());
            }
        }
    }

    @Override
    public void close() {
        stopped = true;
        LockSupport.unpark(thread);
        Threads.join(thread);
    }
}
