package org.mmapqueue.concurrent;

import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * Wakes threads that wait for something that another thread publishes without a lock. Safe for any number of threads.
 *
 * <p>The publisher pays one plain read when no thread waits, and no fence. So, in a window of nanoseconds, it may miss a
 * waiter that is about to sleep; a waiter therefore sleeps in slices and checks again after each. When threads wait, the
 * publisher wakes one of them, and each wakes the next when it takes the lock: waking a thread costs some microseconds.
 */
public final class Signal {
    /** The maximum time in {@link #await}, plus a slice: the caller has other conditions to check. */
    private static final long PATIENCE_NANOS = 50_000_000;

    private static final int SPINS = 100;
    private static final int YIELDS = 4;
    /** A spinning thread reads the clock and yields once in this number of checks. */
    private static final int LOOKS = 64;

    private final WaitStrategy strategy;
    private final long firstSliceNanos;
    private final long sliceNanos;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition signalled = lock.newCondition();
    /** Number of signals so far; stored with the lock held. */
    private volatile int signals;
    /** Whether a thread may be waiting; read without a fence. */
    private boolean waiting;

    /**
     * A signal without waiting threads.
     *
     * @param firstSliceNanos the first sleep, in ns; each one is twice as long as the one before
     * @param sliceNanos the maximum sleep before a waiter looks again by itself, in ns
     */
    Signal(WaitStrategy strategy, long firstSliceNanos, long sliceNanos) {
        this.strategy = strategy;
        this.firstSliceNanos = firstSliceNanos;
        this.sliceNanos = sliceNanos;
    }

    /** For state that threads of this process publish and signal; slices only cover missed signals. */
    public static Signal forThreads(WaitStrategy strategy) {
        return new Signal(strategy, 10_000_000, 10_000_000);
    }

    /** For state that other processes publish, too: they cannot signal, so waiters check again after each slice. */
    public static Signal forProcesses(WaitStrategy strategy) {
        return new Signal(strategy, 1_000_000, 3_500_000);
    }

    /** Wakes all waiting threads. */
    public void signalAll() {
        if (waiting) {
            wake();
        }
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // the lock is held
    private void wake() {
        lock.lock();
        try {
            waiting = false;
            signals++;
            signalled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until {@code ready} is true or {@code deadline} has passed; may return early.
     *
     * @param deadline by System.nanoTime
     * @throws InterruptedException when the thread was interrupted
     */
    public void await(long deadline, BooleanSupplier ready) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (strategy == WaitStrategy.SPIN) {
            spin(deadline, ready);
        } else if (strategy == WaitStrategy.PARK || !spinUntil(deadline, ready)) {
            sleep(deadline, ready);
        }
    }

    private void spin(long deadline, BooleanSupplier ready) throws InterruptedException {
        long end = System.nanoTime() + Math.max(PATIENCE_NANOS, sliceNanos);
        for (int look = 1; !ready.getAsBoolean(); look++) {
            Thread.onSpinWait();
            if (look % LOOKS == 0) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                long now = System.nanoTime();
                if (deadline - now <= 0 || end - now <= 0) {
                    return;
                }
                Thread.yield();
            }
        }
    }

    // Spins for a moment; false if it was too short.
    private static boolean spinUntil(long deadline, BooleanSupplier ready) {
        for (int round = 0; round < SPINS + YIELDS; round++) {
            if (ready.getAsBoolean() || deadline - System.nanoTime() <= 0) {
                return true;
            }
            if (round < SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        return false;
    }

    private void sleep(long deadline, BooleanSupplier ready) throws InterruptedException {
        long now = System.nanoTime();
        long end = now + Math.max(PATIENCE_NANOS, sliceNanos);
        long slice = firstSliceNanos;
        int seen = signals;
        do {
            waiting = true;
            // With this fence, a thread that publishes from now on almost always sees the waiter, or the waiter sees
            // what was published.
            VarHandle.fullFence();
            if (ready.getAsBoolean()) {
                return;
            }
            lock.lockInterruptibly();
            try {
                if (signals == seen) {
                    signalled.awaitNanos(Math.min(deadline - now, slice));
                }
            } finally {
                lock.unlock();
            }
            slice = Math.min(2 * slice, sliceNanos);
            now = System.nanoTime();
        } while (signals == seen && deadline - now > 0 && end - now > 0);
    }
}
