package org.mmapqueue.queue;

import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Wakes threads that wait for something that another thread publishes without a lock.
 *
 * <p>The publisher pays one plain read when nobody waits, and no fence. So in a window of nanoseconds it may miss a
 * waiter that is just coming; a waiter therefore sleeps in slices and looks again after each.
 */
final class Signal {
    private static final int SPINS = 100;
    private static final int YIELDS = 4;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final AtomicInteger waiters = new AtomicInteger();
    private final long sliceNanos;

    /** A signal whose waiters look again at least every {@code sliceNanos}. */
    Signal(long sliceNanos) {
        this.sliceNanos = sliceNanos;
    }

    /** Wakes all that wait. */
    void signalAll() {
        if (waiters.getPlain() != 0) {
            lock.lock();
            try {
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Returns when {@code ready} says so, at the latest at {@code deadline}; may return early.
     *
     * @param deadline by System.nanoTime
     */
    void await(long deadline, BooleanSupplier ready) throws InterruptedException {
        for (int round = 0; round < SPINS + YIELDS; round++) {
            if (ready.getAsBoolean() || deadline - System.nanoTime() <= 0) {
                return;
            }
            if (round < SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        lock.lockInterruptibly();
        waiters.incrementAndGet();
        try {
            VarHandle.fullFence();
            long left = deadline - System.nanoTime();
            if (left > 0 && !ready.getAsBoolean()) {
                changed.awaitNanos(Math.min(left, sliceNanos));
            }
        } finally {
            waiters.decrementAndGet();
            lock.unlock();
        }
    }
}
