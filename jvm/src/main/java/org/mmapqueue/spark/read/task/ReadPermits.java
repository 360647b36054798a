package org.mmapqueue.spark.read.task;

import java.io.Closeable;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import org.mmapqueue.MmapQueue;

/**
 * Limits the tasks of this process that read a partition at once. A task pins the segment that it reads, and a second
 * one while a record spans both. If tasks pinned max_in_mem_segments segments and each needed a second one, none could
 * continue. So the permits leave at least one mapping free; a task without a permit waits for another one's batch.
 * Thread-safe.
 */
final class ReadPermits implements Closeable {
    /** Mappings that are not for tasks: two for the writer, two for a consumer, and one spare. */
    private static final int OTHERS = 5;

    private static final String MAX_IN_MEM_SEGMENTS = "max_in_mem_segments";
    private static final Map<UUID, Shared> IN_USE = new HashMap<>();

    private static final class Shared {
        private final Semaphore permits;
        private int users;

        Shared(int permits) {
            this.permits = new Semaphore(permits, true);
        }
    }

    private final UUID id;
    private final Shared shared;

    private ReadPermits(UUID id, Shared shared) {
        this.id = id;
        this.shared = shared;
    }

    /** The permits of a queue. The caller closes them. */
    static ReadPermits of(MmapQueue queue) {
        UUID id = queue.id();
        int mapped = Integer.parseInt(queue.config().asMap().get(MAX_IN_MEM_SEGMENTS));
        synchronized (IN_USE) {
            Shared shared = IN_USE.computeIfAbsent(id, each -> new Shared(Math.max(1, mapped - OTHERS)));
            shared.users++;
            return new ReadPermits(id, shared);
        }
    }

    /**
     * Waits for a permit. A thread must not hold two.
     *
     * @return the wait, in ns
     */
    long acquire() {
        long start = System.nanoTime();
        shared.permits.acquireUninterruptibly();
        return System.nanoTime() - start;
    }

    /** Releases the permit. */
    void release() {
        shared.permits.release();
    }

    @Override
    public void close() {
        synchronized (IN_USE) {
            shared.users--;
            if (shared.users == 0) {
                IN_USE.remove(id);
            }
        }
    }
}
