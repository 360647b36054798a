package org.mmapqueue.swap;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.io.Closing;

/**
 * Mappings that have been taken out of their slots and are still to be given back. That takes longer than anything else
 * the swapper does, so it is done without its lock; until it is done they count as mapped.
 */
final class Unmapper implements Closeable {
    private final ReentrantLock lock;
    private final Condition changed;
    private final ArrayDeque<Closeable> waiting = new ArrayDeque<>();
    private int pending;

    /**
     * An unmapper with nothing to do.
     *
     * @param lock guards it
     * @param changed is signalled when a mapping is gone
     */
    Unmapper(ReentrantLock lock, Condition changed) {
        this.lock = lock;
        this.changed = changed;
    }

    /** Takes a mapping over. With the lock. */
    void add(Closeable mapping) {
        waiting.add(mapping);
        pending++;
    }

    /** Mappings that are not gone yet. With the lock. */
    int pending() {
        return pending;
    }

    /** Whether {@link #sweep} would find something to do. With the lock. */
    boolean isIdle() {
        return waiting.isEmpty();
    }

    /** Unmaps what there is. Without the lock. */
    void sweep() throws IOException {
        while (true) {
            Closeable next;
            lock.lock();
            try {
                next = waiting.poll();
            } finally {
                lock.unlock();
            }
            if (next == null) {
                return;
            }
            try {
                next.close();
            } finally {
                lock.lock();
                try {
                    pending--;
                    changed.signalAll();
                } finally {
                    lock.unlock();
                }
            }
        }
    }

    /** Unmaps what is left. With the lock, when nobody uses anything any more. */
    @Override
    public void close() throws IOException {
        pending -= waiting.size();
        Closeable[] left = waiting.toArray(new Closeable[0]);
        waiting.clear();
        Closing.all(left);
    }
}
