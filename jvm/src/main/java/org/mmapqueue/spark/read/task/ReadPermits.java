package org.mmapqueue.spark.read.task;

import java.io.Closeable;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import org.mmapqueue.spark.source.PartitionRecords;

/**
 * Limits the number of tasks of this process that read a partition at once, to {@link PartitionRecords#maxReaders}. A
 * task without a permit waits until another task has read its batch. Thread-safe.
 */
final class ReadPermits implements Closeable {
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

    /** The permits of a partition. The caller closes them. */
    static ReadPermits of(PartitionRecords partition) {
        UUID id = partition.queueId();
        int most = partition.maxReaders();
        synchronized (IN_USE) {
            // An archive has no limit, and its partition the id of a queue that may be read here, too.
            Shared shared =
                    most == Integer.MAX_VALUE ? new Shared(most) : IN_USE.computeIfAbsent(id, each -> new Shared(most));
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
                IN_USE.remove(id, shared);
            }
        }
    }
}
