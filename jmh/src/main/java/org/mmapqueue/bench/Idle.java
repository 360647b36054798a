package org.mmapqueue.bench;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Back-off of a thread that finds no record or no room: it spins, then yields, then sleeps. On a machine with few cores
 * a spinning thread takes the time of the thread that it waits for.
 */
final class Idle {
    private static final int SPINS = 64;
    private static final int YIELDS = 128;
    private static final long SLEEP_NANOS = 10_000;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
    private int rounds;
    private long since;

    void idle() {
        rounds++;
        if (rounds <= SPINS) {
            Thread.onSpinWait();
        } else if (rounds <= SPINS + YIELDS) {
            Thread.yield();
        } else {
            sleep();
        }
    }

    /** Starts again with spinning. */
    void reset() {
        rounds = 0;
    }

    private void sleep() {
        long now = System.nanoTime();
        if (rounds == SPINS + YIELDS + 1) {
            since = now;
        } else if (now - since > PATIENCE_NANOS) {
            throw new IllegalStateException("no record and no room for 60 s");
        }
        LockSupport.parkNanos(SLEEP_NANOS);
    }
}
