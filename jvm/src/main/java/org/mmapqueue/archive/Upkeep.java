package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Compacts one partition and applies its retention, on a thread of its own beside the shipper's. */
final class Upkeep {
    private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);
    /** The time for which readers may still use runs that were replaced. */
    private static final Duration GRACE = Duration.ofMinutes(10);

    private static final long MOST_REST_MILLIS = 60_000;
    private static final long RETENTION_NANOS = TimeUnit.SECONDS.toNanos(60);
    /** Approximate number of runs between two rounds. */
    private static final int PERIODS = 16;

    private final String name;
    private final String what;
    private final ShipOptions options;
    private @Nullable Thread thread;

    /** @param what names queue and archive, for messages */
    Upkeep(String name, String what, ShipOptions options) {
        this.name = name;
        this.what = what;
        this.options = options;
    }

    /** Starts the thread, once. */
    synchronized void start(Archive archive, PartitionEntry partition) {
        if (thread == null) {
            thread = new Thread(() -> run(archive, partition), name);
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void run(Archive archive, PartitionEntry partition) {
        Compaction compaction = new Compaction(archive, partition, options.codec(), GRACE);
        Retention retention = new Retention(archive, partition, options.retain());
        long retained = System.nanoTime() - RETENTION_NANOS;
        boolean failing = false;
        while (!Thread.currentThread().isInterrupted()) {
            boolean more = false;
            try {
                more = compaction.step();
                if (!options.retain().isZero() && System.nanoTime() - retained >= RETENTION_NANOS) {
                    retained = System.nanoTime();
                    retention.step();
                }
                failing = false;
            } catch (IOException | RuntimeException e) {
                if (!failing && !Thread.currentThread().isInterrupted()) {
                    LOG.warn("compacting {} has failed, and is tried again: {}", what, e.toString());
                }
                failing = true;
            }
            try {
                if (!more) {
                    Thread.sleep(Math.min(
                            MOST_REST_MILLIS, PERIODS * options.period().toMillis()));
                }
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Ends the thread; returns whether it has ended. */
    synchronized boolean close(Duration most) {
        return thread == null || Ending.join(thread, most);
    }
}
