package org.mmapqueue.spark.write.sink;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.spark.write.staging.StagedFiles;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queues that this process writes through Spark, shared by all writes of a queue. Thread-safe.
 *
 * <p>Spark makes a new write for each micro-batch, and does not report the end of a query. So a queue stays open for
 * some seconds after its last write: a running query does not reopen it, and after the end of a query other processes
 * can open it.
 */
public final class SinkQueues {
    /** How long a queue stays open after a micro-batch. */
    public static final Duration LINGER = Duration.ofSeconds(5);

    private static final Logger LOG = LoggerFactory.getLogger(SinkQueues.class);
    private static final Map<Path, Shared> OPEN = new HashMap<>();
    private static final ScheduledThreadPoolExecutor CLOSER = closer();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(SinkQueues::closeUnused, "mmapqueue-sinks-at-exit"));
    }

    private static final class Shared {
        /**
         * Locked while the queue is opened, extended or closed, which may take as long as a recovery; one lock for each
         * queue.
         */
        private final ReentrantLock opening = new ReentrantLock();
        /** The ids of the writing queries. Guarded by the monitor of OPEN, as is uses. */
        private final List<String> writing = new ArrayList<>();

        private int uses;
        /** The queue; null while it is closed. Guarded by {@link #opening}. */
        private volatile SinkQueue queue;
    }

    /** A use of a queue; the holder closes it once. */
    public static final class Lease implements AutoCloseable {
        private final Path root;
        private final Shared shared;
        private final String query;
        private final Duration linger;
        private boolean isClosed;

        private Lease(Path root, Shared shared, String query, Duration linger) {
            this.root = root;
            this.shared = shared;
            this.query = query;
            this.linger = linger;
        }

        private void open(SinkConfig config, SinkDisk disk) throws InterruptedException {
            shared.opening.lockInterruptibly();
            try {
                if (shared.queue == null) {
                    shared.queue = new SinkQueue(root, config, disk);
                } else {
                    shared.queue.adopt(config);
                }
            } finally {
                shared.opening.unlock();
            }
        }

        public SinkQueue queue() {
            return shared.queue;
        }

        @Override
        public void close() {
            int uses;
            synchronized (OPEN) {
                if (isClosed) {
                    return;
                }
                isClosed = true;
                shared.writing.remove(query);
                if (!shared.writing.isEmpty()) {
                    return;
                }
                uses = shared.uses;
            }
            if (linger.isZero()) {
                closeIfUnused(root, shared, uses);
            } else {
                Runnable close = () -> closeIfUnused(root, shared, uses);
                Future<?> unused = CLOSER.schedule(close, linger.toMillis(), TimeUnit.MILLISECONDS);
            }
        }
    }

    private SinkQueues() {}

    private static ScheduledThreadPoolExecutor closer() {
        ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1, StagedFiles::daemon);
        executor.setKeepAliveTime(2 * LINGER.toSeconds(), TimeUnit.SECONDS);
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    /**
     * Returns a queue for writing. The first call opens it, and completes the manifests of dead writes.
     *
     * @param named the queue's directory
     * @param query the id of the writing query
     * @param config the requested configuration
     * @param push settings for completing manifests
     * @param linger how long the queue stays open after the use
     * @throws IllegalArgumentException if the queue does not match the configuration
     */
    public static Lease acquire(Path named, String query, SinkConfig config, Push push, Duration linger)
            throws IOException, InterruptedException {
        return acquire(named, query, config, push, linger, SinkDisk.REAL);
    }

    /** As above, on a given disk. */
    public static Lease acquire(Path named, String query, SinkConfig config, Push push, Duration linger, SinkDisk disk)
            throws IOException, InterruptedException {
        Lease lease = reserve(real(named.toAbsolutePath().normalize()), query, linger);
        boolean done = false;
        try {
            lease.open(config, disk);
            lease.queue().recover(push, each -> isWriting(lease.shared, each));
            done = true;
            return lease;
        } finally {
            if (!done) {
                lease.close();
            }
        }
    }

    private static Lease reserve(Path root, String query, Duration linger) {
        synchronized (OPEN) {
            Shared shared = OPEN.computeIfAbsent(root, each -> new Shared());
            shared.writing.add(query);
            shared.uses++;
            return new Lease(root, shared, query, linger);
        }
    }

    // The real path, so that all spellings of a path share one entry.
    private static Path real(Path path) throws IOException {
        if (Files.exists(path) || path.getParent() == null) {
            return path.toRealPath();
        }
        return real(path.getParent()).resolve(path.getFileName());
    }

    private static boolean isWriting(Shared shared, String query) {
        synchronized (OPEN) {
            return shared.writing.contains(query);
        }
    }

    private static void closeIfUnused(Path root, Shared shared, int uses) {
        shared.opening.lock();
        try {
            synchronized (OPEN) {
                if (!shared.writing.isEmpty() || shared.uses != uses) {
                    return;
                }
            }
            close(root, shared);
            synchronized (OPEN) {
                if (shared.writing
                        .isEmpty()) { // otherwise a write waits for the lock, and would have to reopen the queue
                    OPEN.remove(root, shared);
                }
            }
        } finally {
            shared.opening.unlock();
        }
    }

    private static void close(Path root, Shared shared) {
        SinkQueue queue = shared.queue;
        shared.queue = null;
        if (queue != null) {
            try {
                queue.close();
            } catch (RuntimeException e) {
                LOG.warn("{} could not be closed; the next open recovers it", root, e);
            }
        }
    }

    private static void closeUnused() {
        Map<Path, Shared> unused = new HashMap<>();
        synchronized (OPEN) {
            OPEN.forEach((root, shared) -> {
                if (shared.writing.isEmpty()) {
                    unused.put(root, shared);
                }
            });
        }
        unused.forEach((root, shared) -> {
            if (shared.opening.tryLock()) { // otherwise another thread is opening or closing the queue
                try {
                    close(root, shared);
                } finally {
                    shared.opening.unlock();
                }
            }
        });
    }
}
