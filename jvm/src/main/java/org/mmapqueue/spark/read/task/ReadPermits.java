package org.mmapqueue.spark.read.task;

import java.io.Closeable;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import org.mmapqueue.MmapQueue;

/**
 * How many tasks of this process may be in a partition's segments at once. A task pins the segment that it reads in,
 * and the next one while a record leads on; when max_in_mem_segments of them do, and each wants its second, nobody gets
 * on. So as many are let in as leave a place to spare; the others wait for the length of a batch. Any number of threads.
 */
final class ReadPermits implements Closeable {
    /** Places that are not for tasks: two of the writer, two of a consumer, and the one to spare. */
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

    /** Those of a queue, to be closed. */
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
     * Waits for a permit, which must be given back; not while holding one.
     *
     * @return ns that it has waited
     */
    long acquire() {
        long start = System.nanoTime();
        shared.permits.acquireUninterruptibly();
        return System.nanoTime() - start;
    }

    /** Gives the permit back. */
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
