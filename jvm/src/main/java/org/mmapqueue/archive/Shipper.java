package org.mmapqueue.archive;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ClosedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ships one queue into an archive, on a thread of its own: durable records every period, or as soon as enough are
 * pending. While the archive cannot be reached, the queue retains the records, and attempts are repeated. Safe for any
 * number of threads.
 *
 * <p>An error of the queue, or a contradiction between queue and archive, ends the shipping; the queue retains the
 * records.
 */
public final class Shipper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Shipper.class);
    private static final long LEAST_SLICE_MILLIS = 1;
    private static final long MOST_SLICE_MILLIS = 50;
    private static final int SLICES = 10;
    private static final long FIRST_PAUSE_MILLIS = 100;
    private static final long MOST_PAUSE_MILLIS = 10_000;

    private final ShipSource source;
    private final Supplier<ArchiveFiles> connection;
    private final ShipOptions options;
    private final String what;
    private final Upkeep upkeep;
    private final Thread thread;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition wake = lock.newCondition();
    /** Guarded by the lock. */
    private boolean isEnding;

    private volatile ShipStats stats = new ShipStats(0, 0, 0, 0, Optional.empty(), false, Optional.empty(), false);
    private volatile @Nullable RuntimeException failure;

    // Accessed only by the thread, while it runs.
    private @Nullable ArchiveFiles files;
    private @Nullable Shipment shipment;
    private long lastRunNanos;
    private long pauseMillis;
    private long failingSince;

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
        this.what = "the queue in " + directory + " into " + archive;
        try {
            files = connection.get();
        } catch (UncheckedIOException e) {
            files = null; // the thread tries again
        }
        String name = directory.substring(directory.lastIndexOf('/') + 1);
        this.upkeep = new Upkeep("mmapqueue-" + name + "-upkeep", what, options);
        this.thread = new Thread(this::run, "mmapqueue-" + name + "-shipper");
        thread.setDaemon(true);
    }

    /** Starts the thread. */
    public void start() {
        lastRunNanos = System.nanoTime() - options.period().toNanos();
        thread.start();
    }

    /** The counters and the state of this shipper. */
    public ShipStats stats() {
        return stats;
    }

    /** The error that ended the shipping; null while it ships, as {@link #stats} has it. */
    public @Nullable RuntimeException failure() {
        return stats.hasEnded() ? failure : null;
    }

    private void run() {
        boolean goesOn = true;
        while (goesOn) {
            goesOn = !isEnding();
            try {
                step(!goesOn);
                succeeded();
                pauseMillis = sliceMillis();
            } catch (IOException | UncheckedIOException e) {
                failed(e);
            } catch (ClosedException e) {
                if (!isEnding()) {
                    end(e); // the consumer was deleted
                }
                return;
            } catch (RuntimeException | Error e) {
                end(e);
                return;
            }
            pause();
        }
    }

    // Stores the runs that are due; at the end, all that is durable.
    private void step(boolean all) throws IOException {
        if (files == null) {
            files = connection.get();
        }
        if (shipment == null) {
            Archive archive = Archive.create(files);
            Shipment resumed = Shipment.resume(source, archive, options);
            upkeep.start(archive, resumed.partition());
            shipment = resumed;
        }
        while (true) {
            boolean isFull = shipment.collect();
            if (!shipment.hasRecords()
                    || !isFull
                            && !all
                            && System.nanoTime() - lastRunNanos
                                    < options.period().toNanos()) {
                return;
            }
            lastRunNanos = System.nanoTime();
            RunName stored = shipment.store();
            ShipStats before = stats;
            stats = new ShipStats(
                    before.records() + stored.count(),
                    before.bytes() + stored.bytes(),
                    before.runs() + 1,
                    before.failures(),
                    Optional.of(Instant.now()),
                    true,
                    before.failure(),
                    false);
            shipment.ack(stored);
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
    private void failed(Exception e) {
        if (stats.failure().isEmpty()) {
            failingSince = System.nanoTime();
            pauseMillis = FIRST_PAUSE_MILLIS;
            LOG.warn("shipping {} has failed and is repeated until it succeeds: {}", what, e.toString());
        } else {
            pauseMillis = Math.min(MOST_PAUSE_MILLIS, 2 * Math.max(FIRST_PAUSE_MILLIS, pauseMillis));
        }
        state(stats.failures() + 1, Optional.of(line(e)), false);
    }

    private void end(Throwable e) {
        failure = e instanceof RuntimeException known ? known : new IllegalStateException(e);
        LOG.error("shipping {} has ended, and the queue keeps its records: {}", what, e.toString());
        state(stats.failures() + 1, Optional.of(line(e)), true);
    }

    private static String line(Throwable e) {
        return e.toString().replace('\n', ' ');
    }

    private void state(long failures, Optional<String> why, boolean hasEnded) {
        ShipStats now = stats;
        stats = new ShipStats(
                now.records(), now.bytes(), now.runs(), failures, now.lastRun(), shipment != null, why, hasEnded);
    }

    private long sliceMillis() {
        long slice = options.period().toMillis() / SLICES;
        return Math.max(LEAST_SLICE_MILLIS, Math.min(MOST_SLICE_MILLIS, slice));
    }

    private boolean isEnding() {
        lock.lock();
        try {
            return isEnding;
        } finally {
            lock.unlock();
        }
    }

    private void pause() {
        lock.lock();
        try {
            long nanos = TimeUnit.MILLISECONDS.toNanos(pauseMillis);
            while (!isEnding && nanos > 0) {
                nanos = wake.awaitNanos(nanos);
            }
        } catch (InterruptedException e) {
            isEnding = true;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ships the records that are durable at the call, and ends the thread.
     *
     * @param most the longest duration; a call of the file system that takes longer is interrupted, and not waited for
     */
    public void close(Duration most) {
        lock.lock();
        try {
            isEnding = true;
            wake.signalAll();
        } finally {
            lock.unlock();
        }
        boolean hasEnded = upkeep.close(Duration.ZERO);
        hasEnded &= Ending.join(thread, most);
        if (hasEnded && files != null) {
            files.close();
        }
    }

    @Override
    public void close() {
        close(Duration.ofSeconds(5));
    }
}
