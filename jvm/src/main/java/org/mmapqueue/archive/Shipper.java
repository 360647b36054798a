package org.mmapqueue.archive;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.ShipStats;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.concurrent.OwnThread;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.io.CauseText;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ships one queue into an archive, on a thread of its own: durable records every period, or as soon as enough are
 * pending, or as soon as a caller waits for them. While the archive cannot be reached, or memory is missing, the queue
 * retains the records, and attempts are repeated. Safe for any number of threads.
 *
 * <p>An error of the queue, or a contradiction between queue and archive, ends the shipping; the queue retains the
 * records.
 */
public final class Shipper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Shipper.class);
    private static final long LEAST_SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long MOST_SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int SLICES = 10;
    /** The least time between the beginnings of two runs that callers wait for: bounds the number of small runs. */
    private static final long DEMAND_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long MOST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final ShipSource source;
    private final Supplier<ArchiveFiles> connection;
    private final ShipOptions options;
    private final URI archive;
    private final String what;
    private final String name;
    private final OwnThread thread;
    /** The offset after the last record that a caller has waited for. */
    private final AtomicLong demanded = new AtomicLong();

    /** Why the shipping was ended by its owner; null if it was not, or by {@link #close} alone. */
    private volatile @Nullable RuntimeException ending;

    /** Whether the close waits no longer for work that can be left to the next shipper. */
    private volatile boolean isAborted;
    /** Started by the thread, which ends after it. */
    private volatile @Nullable Upkeep upkeep;

    private volatile ShipStats stats =
            new ShipStats(0, 0, 0, 0, Optional.empty(), false, Optional.empty(), Optional.empty(), false);
    private volatile @Nullable RuntimeException failure;

    // Accessed only by the thread, once it was started.
    private @Nullable ArchiveFiles files;
    private @Nullable Shipment shipment;
    private long lastRunNanos;
    private long pauseNanos;
    private long failingSince;
    /** Whether the last step has found no memory: what it has collected may be incomplete. */
    private boolean isIncomplete;

    /**
     * Makes a shipper that does not run yet.
     *
     * @param directory the queue's directory, for messages and the thread's name
     * @param archive the archive's directory, for messages
     * @param connection opens the archive's files, which the shipper closes. Called here, and again after an
     *     UncheckedIOException, which means that the file system cannot be reached at present
     */
    public Shipper(
            String directory, ShipSource source, URI archive, Supplier<ArchiveFiles> connection, ShipOptions options) {
        this.source = source;
        this.connection = connection;
        this.options = options;
        this.archive = archive;
        this.what = "the queue in " + directory + " into " + archive;
        try {
            files = connection.get();
        } catch (UncheckedIOException e) {
            files = null; // the thread tries again
        }
        this.name = "mmapqueue-" + directory.substring(directory.lastIndexOf('/') + 1);
        this.thread = new OwnThread(name + "-shipper", this::run);
    }

    /** Starts the thread; has no effect after a close. */
    public void start() {
        lastRunNanos = System.nanoTime() - options.period().toNanos();
        thread.start();
    }

    /**
     * Asks for records that a caller waits for: they are shipped as soon as they are durable, whatever the period. All
     * calls during the store of a run share the next run. An attempt that has failed is not repeated earlier.
     *
     * @param end the offset after the last of the records
     */
    public void demand(long end) {
        if (demanded.getAndAccumulate(end, Math::max) < end && stats.failure().isEmpty()) {
            thread.wake();
        }
    }

    /** The counters and the state of this shipper. */
    public ShipStats stats() {
        return stats;
    }

    /** The error that ended the shipping; null while it ships, as {@link #stats} has it. */
    public @Nullable RuntimeException failure() {
        return stats.hasEnded() ? failure : null;
    }

    /** Why the queue keeps records that should be in the archive, for messages; empty while the shipping succeeds. */
    public Optional<String> trouble() {
        ShipStats now = stats;
        return now.failure()
                .map(why -> "shipping into " + archive + (now.hasEnded() ? " has ended: " : " has failed since ")
                        + (now.hasEnded() ? "" : now.failingSince().orElseThrow() + " and is repeated: ")
                        + why);
    }

    private void run() {
        try {
            ship();
        } catch (Error e) { // while another one was handled
            end(e);
        } finally {
            Upkeep started = upkeep;
            if (started != null) {
                started.close();
            }
            if (shipment != null) {
                shipment.close();
            }
            closeFiles();
        }
    }

    private void closeFiles() {
        if (files != null) {
            files.close();
        }
    }

    private void ship() {
        boolean goesOn = true;
        while (goesOn) {
            goesOn = !thread.isEnding();
            RuntimeException why = ending;
            if (why != null) {
                end(why);
                return;
            }
            try {
                step(!goesOn);
                succeeded();
            } catch (IOException | UncheckedIOException e) {
                failed(e);
            } catch (ClosedException e) {
                if (!thread.isEnding()) {
                    end(e); // the consumer was deleted
                }
                return;
            } catch (OutOfMemoryError e) { // there may be memory again
                isIncomplete = true;
                failed(e);
            } catch (RuntimeException | Error e) {
                end(e);
                return;
            }
            thread.pause(pauseNanos);
        }
    }

    // Stores the runs that are due; at the end, all that is durable.
    private void step(boolean all) throws IOException {
        if (files == null) {
            files = connection.get();
        }
        if (shipment == null) {
            Shipment resumed = Shipment.resume(source, files, options);
            Upkeep started = new Upkeep(name + "-upkeep", what, options, resumed, () -> isAborted);
            upkeep = started;
            started.start();
            shipment = resumed;
        }
        if (isIncomplete) {
            shipment.recover();
            isIncomplete = false;
        }
        while (true) {
            boolean isFull = shipment.collect();
            long left = shipment.hasRecords() ? nanosUntilDue(shipment) : Long.MAX_VALUE;
            if (!shipment.hasRecords() || !isFull && !all && left > 0) {
                if (!shipment.hasRecords()) {
                    source.checkPlace();
                }
                pauseNanos = Math.min(sliceNanos(), left);
                return;
            }
            lastRunNanos = System.nanoTime();
            RunName stored = store(shipment);
            ShipStats before = stats;
            stats = new ShipStats(
                    before.records() + stored.count() - stored.lost(),
                    before.bytes() + stored.bytes(),
                    before.runs() + 1,
                    before.failures(),
                    Optional.of(Instant.now()),
                    true,
                    before.failure(),
                    before.failingSince(),
                    false);
            shipment.ack(stored);
        }
    }

    private long nanosUntilDue(Shipment collected) {
        long period = options.period().toNanos();
        long between = demanded.get() > collected.storedEnd() ? Math.min(DEMAND_NANOS, period) : period;
        return between - (System.nanoTime() - lastRunNanos);
    }

    private RunName store(Shipment collected) throws IOException {
        boolean isStored = false;
        try {
            RunName stored = collected.store();
            isStored = true;
            return stored;
        } finally {
            Upkeep started = upkeep;
            if (started != null) {
                started.isShort(!isStored);
            }
        }
    }

    private void succeeded() {
        if (stats.failure().isPresent()) {
            LOG.info(
                    "shipping {} continues after {} s",
                    what,
                    TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - failingSince));
        }
        if (stats.failure().isPresent() || !stats.hasBegun()) {
            state(stats.failures(), Optional.empty(), false);
        }
    }

    // Notes a failed attempt. The queue retains its records until an attempt succeeds.
    private void failed(Throwable e) {
        if (stats.failure().isEmpty()) {
            failingSince = System.nanoTime();
            pauseNanos = FIRST_PAUSE_NANOS;
            LOG.warn("shipping {} has failed and is repeated until it succeeds: {}", what, line(e));
        } else {
            pauseNanos = Math.min(MOST_PAUSE_NANOS, 2 * Math.max(FIRST_PAUSE_NANOS, pauseNanos));
        }
        state(stats.failures() + 1, Optional.of(line(e)), false);
    }

    private void end(Throwable e) {
        isAborted = true; // its upkeep may have no right to the partition any more
        failure = e instanceof RuntimeException known ? known : new IllegalStateException(e);
        try {
            LOG.error("shipping {} has ended, and the queue keeps its records: {}", what, line(e));
        } finally {
            state(stats.failures() + 1, Optional.of(line(e)), true);
        }
    }

    private static String line(Throwable e) {
        return CauseText.of(e).replace('\n', ' ');
    }

    private void state(long failures, Optional<String> why, boolean hasEnded) {
        ShipStats now = stats;
        Optional<Instant> since = why.map(text -> now.failingSince().orElseGet(Instant::now));
        stats = new ShipStats(
                now.records(),
                now.bytes(),
                now.runs(),
                failures,
                now.lastRun(),
                shipment != null,
                why,
                since,
                hasEnded);
    }

    private long sliceNanos() {
        long slice = options.period().toNanos() / SLICES;
        return Math.max(LEAST_SLICE_NANOS, Math.min(MOST_SLICE_NANOS, slice));
    }

    /**
     * Ships the records that are durable at the call, completes the first compaction, and ends the thread.
     *
     * @param most the maximum duration; a call of the file system that takes longer is interrupted, and not waited for
     * @return whether nothing of this shipper runs any more; else {@link #whenEnded} tells when
     */
    public boolean close(Duration most) {
        if (thread.end()) {
            closeFiles(); // the thread was never started
            return true;
        }
        return thread.close(most, this::abort);
    }

    private void abort() {
        isAborted = true;
        Upkeep started = upkeep;
        if (started != null) {
            started.interrupt();
        }
    }

    /**
     * Ends the thread with an error, and ships nothing more.
     *
     * @param why the error, as {@link #failure} returns it then
     * @param most as for {@link #close(Duration)}
     * @return whether nothing of this shipper runs any more
     */
    public boolean end(RuntimeException why, Duration most) {
        ending = why;
        isAborted = true;
        return close(most);
    }

    /** Runs something when nothing of this shipper runs any more: a call of the file system has returned after all. */
    public void whenEnded(Runnable last) {
        thread.whenEnded(last);
    }

    @Override
    public void close() {
        close(Duration.ofSeconds(5));
    }
}
