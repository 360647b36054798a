package org.mmapqueue.concurrent;

import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

import org.mmapqueue.io.StackRoom;

/**
 * Wakes threads that wait for something that another thread publishes without a lock.
 *
 * <p>The publisher pays one plain read when nobody waits, and no fence. So in a window of nanoseconds it may miss a
 * waiter that is just coming; a waiter therefore sleeps in slices and looks again after each. When threads wait, the
 * publisher wakes one of them, however many there are: to wake a thread costs some microseconds. Whoever is woken wakes
 * two others before it goes on.
 */
public final class Signal {
    /** After this {@link #await} returns with the end of a slice: its caller has other things to look at, too. */
    private static final long PATIENCE_NANOS = 50_000_000;
    private static final int SPINS = 100;
    private static final int YIELDS = 4;
    /** How many times one that spins looks before it reads the clock, and gives way to who needs the processor. */
    private static final int LOOKS = 64;

    private final WaitStrategy strategy;
    private final long firstSliceNanos;
    private final long sliceNanos;
    private final ReentrantLock lock = new ReentrantLock();
    /** Who sleeps and has not been chosen to be woken; guarded by the lock. */
    private final List<Waiter> waiting = new ArrayList<>();
    /** Their number. */
    private final AtomicInteger waiters = new AtomicInteger();

    /**
     * A signal that nobody waits for.
     *
     * @param firstSliceNanos the first sleep, in ns; each one is twice as long as the one before
     * @param sliceNanos the longest sleep before a waiter looks again by itself, in ns
     */
    Signal(WaitStrategy strategy, long firstSliceNanos, long sliceNanos) {
        this.strategy = strategy;
        this.firstSliceNanos = firstSliceNanos;
        this.sliceNanos = sliceNanos;
    }

    /** For what threads of this process publish: they signal, and a slice is for those that they miss. */
    public static Signal forThreads(WaitStrategy strategy) {
        return new Signal(strategy, 10_000_000, 10_000_000);
    }

    /** For what other processes publish, too, which can not signal: slices are all that there is. */
    public static Signal forProcesses(WaitStrategy strategy) {
        return new Signal(strategy, 1_000_000, 3_500_000);
    }

    /** Wakes all that wait. */
    public void signalAll() {
        if (waiters.getPlain() != 0) {
            wake();
        }
    }

    private void wake() {
        Waiter[] group;
        StackRoom.ensure();
        lock.lock();
        try {
            group = waiting.toArray(new Waiter[0]);
            for (int i = 0; i < group.length; i++) {
                group[i].place = i;
                group[i].group = group;
            }
            waiting.clear();
            waiters.setPlain(0);
        } finally {
            lock.unlock();
        }
        if (group.length > 0) {
            LockSupport.unpark(group[0].thread);
        }
    }

    /**
     * Returns when {@code ready} says so, at the latest at {@code deadline}; may return early.
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
        } else if (strategy == WaitStrategy.PARK || !comesSoon(deadline, ready)) {
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

    private static boolean comesSoon(long deadline, BooleanSupplier ready) {
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
        StackRoom.ensure();
        Waiter self = new Waiter(Thread.currentThread());
        enter(self);
        try {
            // Whoever publishes from now on sees this waiter, or this waiter what was published; nearly.
            VarHandle.fullFence();
            long now = System.nanoTime();
            long end = now + Math.max(PATIENCE_NANOS, sliceNanos);
            long slice = firstSliceNanos;
            while (deadline - now > 0 && end - now > 0 && self.group == null && !ready.getAsBoolean()) {
                LockSupport.parkNanos(this, Math.min(deadline - now, slice));
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                slice = Math.min(2 * slice, sliceNanos);
                now = System.nanoTime();
            }
        } finally {
            leave(self);
        }
    }

    private void enter(Waiter self) {
        lock.lock();
        try {
            waiting.add(self);
            waiters.setPlain(waiting.size());
        } finally {
            lock.unlock();
        }
    }

    // Whatever has ended the wait: others may count on this one to be woken.
    private void leave(Waiter self) {
        if (self.group == null) {
            lock.lock();
            try {
                if (waiting.remove(self)) {
                    waiters.setPlain(waiting.size());
                }
            } finally {
                lock.unlock();
            }
        }
        self.wakeOthers();
    }

    /** A thread that sleeps, and its place in the group that was chosen to be woken with it. */
    private static final class Waiter {
        private final Thread thread;
        private int place;
        /** Stored last; null while nobody has signalled. */
        private volatile Waiter[] group;

        Waiter(Thread thread) {
            this.thread = thread;
        }

        // As in a binary heap: each one has two below it, and no one is more than a few wakes away.
        void wakeOthers() {
            Waiter[] all = group;
            if (all == null) {
                return;
            }
            for (int below = 2 * place + 1; below <= 2 * place + 2 && below < all.length; below++) {
                LockSupport.unpark(all[below].thread);
            }
        }
    }
}
