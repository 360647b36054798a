package org.mmapqueue.concurrent;

import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.mmapqueue.io.StackRoom;

/**
 * Counts calls that are running, so that a close waits for them. A call may begin another call. Safe for any number of
 * threads; calls do not wait for each other.
 */
public final class Gate {
    /** A call holds the shared side; {@link #close} takes the exclusive side, which waits for all of them. */
    private final ReentrantReadWriteLock calls = new ReentrantReadWriteLock();

    private volatile boolean closed;

    /**
     * Begins a call, unless the gate is closed. While a thread waits in {@link #close}, only calls inside of running
     * ones begin; the others wait for that thread.
     *
     * @return whether the call has begun: then the caller calls {@link #leave}
     */
    public boolean enter() {
        StackRoom.ensure();
        calls.readLock().lock();
        if (closed) {
            calls.readLock().unlock();
            return false;
        }
        return true;
    }

    /** Ends a call. */
    public void leave() {
        calls.readLock().unlock();
    }

    /** Waits for the running calls; none begins any more. Not called from inside of a call. Idempotent. */
    public void close() {
        StackRoom.ensure();
        if (calls.getReadHoldCount() > 0) {
            throw new IllegalStateException("a call closes the gate that it has entered");
        }
        calls.writeLock().lock();
        try {
            closed = true;
        } finally {
            calls.writeLock().unlock();
        }
    }

    public boolean isClosed() {
        return closed;
    }
}
