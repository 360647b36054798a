package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.mmapqueue.archive.owner.Ownership;
import org.mmapqueue.concurrent.OwnThread;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compacts one partition and applies its retention, on a thread of its own. It belongs to the thread of a shipper, which
 * starts it and ends after it.
 */
final class Upkeep {
    private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);
    /** The time for which readers may still use runs that were replaced. */
    private static final Duration GRACE = Duration.ofMinutes(10);

    private static final long MOST_REST_MILLIS = 60_000;
    private static final long RETENTION_NANOS = TimeUnit.SECONDS.toNanos(60);
    /** Approximate number of runs between two rounds. */
    private static final int PERIODS = 16;

    private final String what;
    private final ShipOptions options;
    private final BooleanSupplier isAborted;
    private final Ownership owner;
    private final Compaction compaction;
    private final Retention retention;
    private final OwnThread thread;

    /** Whether a file could not be stored, maybe for want of space: there are too many reasons and texts to tell. */
    private volatile boolean isShort;

    /** Whether nothing was left to compact once. Accessed by the thread alone. */
    private boolean hasCompleted;

    /** The parts that have failed last. Accessed by the thread alone. */
    private final Set<String> failing = new HashSet<>();

    /** Whether the present round has left something to compact. Accessed by the thread alone. */
    private boolean more;

    /**
     * @param what names queue and archive, for messages
     * @param isAborted whether the shipper waits no longer for the first round
     */
    Upkeep(String name, String what, ShipOptions options, Shipment shipment, BooleanSupplier isAborted) {
        this.what = what;
        this.options = options;
        this.isAborted = isAborted;
        this.owner = shipment.owner();
        this.compaction = new Compaction(
                shipment.archive(), shipment.partition(), options.codec(), GRACE, this::isOver, owner::check);
        this.retention = new Retention(
                shipment.archive(),
                shipment.partition(),
                options.retain(),
                options.abandon(),
                shipment::consumedOffset);
        this.thread = new OwnThread(name, this::run);
    }

    void start() {
        thread.start();
    }

    // The first round is completed also after the request to end: otherwise shippers that run for a short time would
    // never compact.
    private boolean isOver() {
        return thread.isEnding() && (hasCompleted || isAborted.getAsBoolean());
    }

    private void run() {
        long retained = System.nanoTime() - RETENTION_NANOS;
        while (!isOver()) {
            more = false;
            boolean isCompacted = attempt("compacting", () -> more = compaction.step(isShort)) && !more;
            if (!isOver() && !options.retain().isZero() && System.nanoTime() - retained >= RETENTION_NANOS) {
                retained = System.nanoTime();
                attempt("the retention of", retention::step);
            }
            hasCompleted |= isCompacted;
            if (!more) {
                if (thread.isEnding()) {
                    return;
                }
                thread.pause(TimeUnit.MILLISECONDS.toNanos(
                        Math.min(MOST_REST_MILLIS, PERIODS * options.period().toMillis())));
            }
        }
    }

    /** A part of a round. */
    private interface Part {
        void run() throws IOException;
    }

    // Returns whether a part has succeeded. One that fails is repeated by the next round, and stops no other one.
    private boolean attempt(String doing, Part part) {
        try {
            owner.check(); // after what an earlier round has stored, before this one deletes anything
            part.run();
            failing.remove(doing);
            return true;
        } catch (IOException | RuntimeException | Error e) {
            if (e instanceof IOException) {
                isShort = true;
            }
            if (!thread.isEnding() && failing.add(doing)) {
                LOG.warn("{} {} has failed, and is tried again: {}", doing, what, e.toString());
            }
            return false;
        }
    }

    /** Whether the last run could not be stored: then space goes before the grace period of replaced runs. */
    void isShort(boolean now) {
        if (now && !isShort) {
            isShort = true;
            thread.wake();
        } else if (!now) {
            isShort = false;
        }
    }

    /** Ends a call of the file system. */
    void interrupt() {
        thread.interrupt();
    }

    /** Ends the thread, and waits until it has ended. */
    void close() {
        thread.endAndJoin();
    }
}
