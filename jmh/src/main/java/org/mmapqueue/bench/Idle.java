package org.mmapqueue.bench;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What a thread does while there is nothing to pop or no room to push: it spins, then yields, then sleeps. On a machine
 * with few cores a thread that only spins takes the time of the one it waits for.
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

    /** Something has gone on. */
    void reset() {
        rounds = 0;
    }

    private void sleep() {
        long now = System.nanoTime();
        if (rounds == SPINS + YIELDS + 1) {
            since = now;
        } else if (now - since > PATIENCE_NANOS) {
            throw new IllegalStateException("nothing has moved for a minute");
        }
        LockSupport.parkNanos(SLEEP_NANOS);
    }
}
