package org.mmapqueue.concurrent;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * The claim to a cursor: one thread at a time moves it. Taking it is one compare-and-set, leaving it one release
 * store; there is no call into the kernel unless several threads contend, and then the losers spin, yield and sleep,
 * so that the one inside gets the processor. Not fair, not reentrant.
 */
public final class SpinLock {
    private static final VarHandle OWNER;
    private static final int SPINS = 64;
    private static final int YIELDS = 16;
    private static final long SLEEP_NANOS = 50_000;

    static {
        try {
            OWNER = MethodHandles.lookup().findVarHandle(SpinLock.class, "owner", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // A cache line before and behind: the claims of writer and readers must not share one.
    private long p00, p01, p02, p03, p04, p05, p06;
    /**
     * Who is inside. Who fails inside gives the claim back by storing null here: at the end of its stack a thread can
     * still store to a field, but may not have the room for the call of {@link #release}.
     */
    public volatile Thread owner;

    private long p10, p11, p12, p13, p14, p15, p16;

    /** Waits until the claim is the caller's; returns the caller, as {@link #owner} holds it from now on. */
    public Thread acquire() {
        Thread self = Thread.currentThread();
        if (!OWNER.compareAndSet(this, null, self)) {
            contend(self);
        }
        return self;
    }

    boolean tryAcquire() {
        return OWNER.compareAndSet(this, null, Thread.currentThread());
    }

    public void release() {
        OWNER.setRelease(this, null);
    }

    private void contend(Thread self) {
        if (owner == self) {
            throw new IllegalStateException("the lock is held by this thread already");
        }
        for (int round = 0; ; round++) {
            if (owner == null && OWNER.compareAndSet(this, null, self)) {
                return;
            }
            if (round < SPINS) {
                Thread.onSpinWait();
            } else if (round < SPINS + YIELDS) {
                Thread.yield();
            } else {
                LockSupport.parkNanos(this, SLEEP_NANOS);
            }
        }
    }

    /** Keeps the padding from being taken for unused. */
    long padding() {
        return p00 + p01 + p02 + p03 + p04 + p05 + p06 + p10 + p11 + p12 + p13 + p14 + p15 + p16;
    }
}
