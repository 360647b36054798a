package org.mmapqueue.swap;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.io.Closing;

/**
 * Mappings that were detached from their slots and wait to be unmapped. Unmapping is slow, so it runs without the
 * swapper's lock; until then they count as mapped.
 */
final class Unmapper implements Closeable {
    private final ReentrantLock lock;
    private final Condition changed;
    private final ArrayDeque<Closeable> waiting = new ArrayDeque<>();
    private int pending;

    Unmapper(ReentrantLock lock, Condition changed) {
        this.lock = lock;
        this.changed = changed;
    }

    /** Adds a mapping. Needs the lock. */
    void add(Closeable mapping) {
        waiting.add(mapping);
        pending++;
    }

    /** Number of mappings that are not unmapped yet. Needs the lock. */
    int pending() {
        return pending;
    }

    /** Whether {@link #sweep} has nothing to unmap. Needs the lock. */
    boolean isIdle() {
        return waiting.isEmpty();
    }

    /** Unmaps all waiting mappings. Must be called without the lock. */
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

    /** Unmaps the rest, once no mapping is used any more. Needs the lock. */
    @Override
    public void close() throws IOException {
        pending -= waiting.size();
        Closeable[] left = waiting.toArray(new Closeable[0]);
        waiting.clear();
        Closing.all(left);
    }
}
