package org.mmapqueue.spark.write;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queues that this process writes through Spark. Writes of one queue share it. Any number of threads.
 *
 * <p>Spark makes a write anew for each micro-batch, and tells nobody when a query ends. So a queue stays open for some
 * seconds after the last of its writes: a running query finds it open, and an ended one does not keep others away.
 */
final class SinkQueues {
    /** How long a queue that a query has written stays open. */
    static final Duration LINGER = Duration.ofSeconds(5);

    private static final Logger LOG = LoggerFactory.getLogger(SinkQueues.class);
    private static final Map<Path, Shared> OPEN = new HashMap<>();
    private static final ScheduledThreadPoolExecutor CLOSER = closer();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(SinkQueues::closeUnused, "mmapqueue-sinks-at-exit"));
    }

    private static final class Shared {
        private final SinkQueue queue;
        /** The ids of the queries that write now. */
        private final List<String> writing = new ArrayList<>();
        private int uses;

        Shared(SinkQueue queue) {
            this.queue = queue;
        }
    }

    /** The right to use a queue; to be given back once. */
    static final class Lease implements AutoCloseable {
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
            shared.writing.add(query);
            shared.uses++;
        }

        SinkQueue queue() {
            return shared.queue;
        }

        @Override
        public void close() {
            synchronized (OPEN) {
                if (!isClosed) {
                    isClosed = true;
                    shared.writing.remove(query);
                    release(root, shared, linger);
                }
            }
        }
    }

    private SinkQueues() {
    }

    private static ScheduledThreadPoolExecutor closer() {
        ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1, StagedFiles::daemon);
        executor.setKeepAliveTime(2 * LINGER.toSeconds(), TimeUnit.SECONDS);
        executor.allowCoreThreadTimeOut(true);
        return executor;
    }

    /**
     * A queue to write; the first one to ask for it opens it, and ends what dead writes have begun.
     *
     * @param named its directory
     * @param query the id of the query that writes
     * @param config what it is to be like
     * @param push how to push what was begun
     * @param linger how long it stays open afterwards
     * @throws IllegalArgumentException when it is not what it is to be like
     */
    static Lease acquire(Path named, String query, SinkConfig config, Push push, Duration linger)
            throws IOException, InterruptedException {
        Lease lease = lease(real(named.toAbsolutePath().normalize()), query, config, linger);
        boolean done = false;
        try {
            lease.queue().recover(push, each -> isWriting(lease.shared, each));
            done = true;
            return lease;
        } finally {
            if (!done) {
                lease.close();
            }
        }
    }

    private static Lease lease(Path root, String query, SinkConfig config, Duration linger) {
        synchronized (OPEN) {
            Shared shared = OPEN.get(root);
            if (shared == null) {
                shared = new Shared(new SinkQueue(root, config));
                OPEN.put(root, shared);
            } else {
                shared.queue.adopt(config);
            }
            return new Lease(root, shared, query, linger);
        }
    }

    // Without links in it, so that there is one for all names of the queue.
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

    private static void release(Path root, Shared shared, Duration linger) {
        if (!shared.writing.isEmpty()) {
            return;
        }
        if (linger.isZero()) {
            closeIfUnused(root, shared, shared.uses);
        } else {
            int uses = shared.uses;
            CLOSER.schedule(() -> closeIfUnused(root, shared, uses), linger.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    private static void closeIfUnused(Path root, Shared shared, int uses) {
        synchronized (OPEN) {
            if (shared.writing.isEmpty() && shared.uses == uses && OPEN.remove(root, shared)) {
                close(root, shared);
            }
        }
    }

    private static void close(Path root, Shared shared) {
        try {
            shared.queue.close();
        } catch (RuntimeException e) {
            LOG.warn("{} could not be closed; it is recovered when it is opened next", root, e);
        }
    }

    private static void closeUnused() {
        synchronized (OPEN) {
            OPEN.forEach((root, shared) -> {
                if (shared.writing.isEmpty()) {
                    close(root, shared);
                }
            });
        }
    }
}
