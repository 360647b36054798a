package org.mmapqueue.flush;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.io.Threads;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.segment.FillBlocks;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentSyncer;

/**
 * Says when to fsync, by period, by count, and on request; {@link Syncer} says what, in which order. Requests of records
 * are served in {@linkplain GroupCommit groups}. Safe for any number of threads.
 *
 * <p>The watermark is the writing position as it was BEFORE the fsync, so it never passes a byte that has not been
 * fsynced, but for those that every consumer had acked by then: they are never needed again. The acks that say so reach
 * the disk before the watermark, or (the default consumer's) in the same sector. After an fsync that failed the kernel
 * may have dropped the pages and forgotten it: none is trusted any more.
 */
public final class Flusher implements Closeable {
    private final MetaPage meta;
    private final FlusherState state = new FlusherState();
    private final Syncer syncer;
    private final long periodNanos;
    private final GroupCommit group = new GroupCommit();
    /** Fair: whoever has just fsynced would take it first again. */
    private final ReentrantLock flushing = new ReentrantLock(true);

    private final ReentrantLock waiting = new ReentrantLock();
    private final Condition wake = waiting.newCondition();
    /** How many wait for {@link #flushing} to bring acks to the disk. */
    private final AtomicInteger acksWaiting = new AtomicInteger();

    private final Thread thread;
    private volatile boolean requested;
    private volatile boolean hasLeft;
    /** The thread waits for the end of its rest, whether a flush is requested or not. */
    private boolean resting;

    private boolean stopped;

    /**
     * A flusher that is not running yet.
     *
     * @param name the thread's name
     * @param blocks are told what is fsynced
     * @param consumers the cursors of all consumers, and of what is needed without one, as they are at the time of the
     *     call
     * @param producers the pages of all producers, as they are at the time of the call
     * @param periodMillis the longest that a published record stays unsynced, in ms
     */
    public Flusher(
            String name,
            MetaPage meta,
            Geometry geometry,
            FillBlocks blocks,
            SegmentSyncer segments,
            Supplier<List<? extends ConsumerCursors>> consumers,
            Supplier<List<ProducerPage>> producers,
            long periodMillis) {
        this.meta = meta;
        this.syncer = new Syncer(meta, geometry, blocks, segments, consumers, producers, state, this::letAcksPass);
        this.periodNanos = TimeUnit.MILLISECONDS.toNanos(periodMillis);
        this.thread = new Thread(this::run, name);
        this.thread.setDaemon(true);
    }

    /** Starts the thread. */
    public void start() {
        thread.start();
    }

    /** Asks the thread for a flush and does not wait for it. */
    public void request() {
        if (requested) {
            return;
        }
        StackRoom.lock(waiting);
        try {
            requested = true;
            if (!resting) {
                wake.signal();
            }
        } finally {
            waiting.unlock();
        }
    }

    /**
     * Returns when every record that ends at or before {@code position} is on the disk.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void awaitDurable(long position) {
        awaitDurable(() -> meta.watermark() >= position);
    }

    /**
     * Returns when every record that ends at or before {@code position}, and what a producer has pushed up to a
     * sequence, are on the disk.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void awaitDurable(long position, ProducerPage producer, long sequence) {
        awaitDurable(() -> meta.watermark() >= position && producer.isDurable(sequence));
    }

    private void awaitDurable(BooleanSupplier done) {
        while (state.failure() != null || !done.getAsBoolean()) {
            StackRoom.ensure();
            state.check();
            group.run(this::syncRecords);
        }
    }

    private void syncRecords() {
        locked(syncer::syncRecords);
    }

    /**
     * Returns when everything published before the call, every cursor and the watermark are on the disk.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void flush() {
        locked(() -> {
            syncer.tellAmount();
            syncer.syncAll();
        });
    }

    /**
     * Fsyncs most of what has been published and acked, as the thread does on request: at most a quarter of the records
     * that there are to fsync is left, where fsyncing them would hold up who pushes.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void flushMost() {
        locked(() -> hasLeft = !syncer.syncSettled());
    }

    private void locked(Syncing syncing) {
        StackRoom.lock(flushing);
        try {
            state.check();
            guarded(syncing);
        } finally {
            flushing.unlock();
        }
    }

    /** Whether the last flush on request has left some records, at most a quarter. */
    public boolean hasLeft() {
        return hasLeft;
    }

    /**
     * Fsyncs cursors, so that {@link #durableCommitted} gets beyond a position, if the consumers are: no more records
     * than a recovery would need to find the slowest one's place, and none at all when they are on the disk already.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void syncAcks(long position) {
        StackRoom.ensure();
        state.check();
        if (syncedCursorsBeyond(position)) {
            return;
        }
        acksWaiting.incrementAndGet();
        try {
            flushing.lock();
        } finally {
            acksWaiting.decrementAndGet();
        }
        try {
            state.check();
            if (syncer.durableCommitted() <= position) {
                guarded(syncer::syncAcked);
            }
        } finally {
            flushing.unlock();
        }
    }

    // A flush of much may take long, and producers wait for slots.
    private void letAcksPass() {
        if (acksWaiting.get() > 0) {
            flushing.unlock();
            flushing.lock();
            state.check();
        }
    }

    private boolean syncedCursorsBeyond(long position) {
        try {
            return syncer.syncCursorsBeyond(position);
        } catch (IOException e) {
            state.throwIfPoisoned();
            throw new IllegalStateException(e);
        }
    }

    /**
     * Marks the writer as not to be trusted any more; the first cause stays.
     *
     * @param cause what went wrong
     */
    public void poison(Throwable cause) {
        state.poison(cause);
    }

    /**
     * No recovery will look for what is before this position: every consumer has acked it, and the disk knows. A ring
     * slot that ends before it may be used again.
     */
    public long durableCommitted() {
        return syncer.durableCommitted();
    }

    /** Says what {@link #durableCommitted} is at the beginning; all cursors are on the disk. */
    public void startAt(long committed) {
        syncer.startAt(committed);
    }

    /**
     * A consumer has been moved back, or made, at or behind this position: what was fsynced before does not count beyond
     * it, until the next flush.
     */
    public void durableAtMost(long committed) {
        StackRoom.ensure();
        syncer.durableAtMost(committed);
    }

    /**
     * Returns when the disk says that nothing before this position is retained any more. To be done before it is
     * overwritten: what the disk says of the ring may be old, and then only that it is intact can be trusted.
     *
     * @throws PoisonedException when the fsync fails, or one has failed before
     */
    public void giveUpBefore(long position) {
        StackRoom.ensure();
        guarded(() -> syncer.giveUpBefore(position));
    }

    /** Does something while nothing is being fsynced. */
    public void exclusively(Syncing work) throws IOException {
        StackRoom.lock(flushing);
        try {
            state.check();
            work.run();
        } finally {
            flushing.unlock();
        }
    }

    /** What poisoned the writer, or null. */
    public Throwable failure() {
        return state.failure();
    }

    /** Raises {@link PoisonedException} when the writer is poisoned. */
    public void throwIfPoisoned() {
        state.throwIfPoisoned();
    }

    /** Stops the thread; does not flush. Calls after {@link #end} raise ClosedException. */
    @Override
    public void close() {
        StackRoom.lock(waiting);
        try {
            stopped = true;
            wake.signal();
        } finally {
            waiting.unlock();
        }
        Threads.join(thread);
    }

    /** Fsyncs everything for the last time, as {@link #flush} does; every later call raises ClosedException. */
    public void end() {
        StackRoom.lock(flushing);
        try {
            flush();
        } finally {
            syncer.end();
            flushing.unlock();
        }
    }

    private void run() {
        FlushTimes times = new FlushTimes(periodNanos, System.nanoTime());
        while (awaitTurn(times)) {
            long begin = System.nanoTime();
            boolean whole = true;
            try {
                if (times.isPeriodOver(begin)) {
                    locked(syncer::syncAll);
                } else {
                    flushMost();
                    whole = !hasLeft;
                }
            } catch (RuntimeException | Error e) {
                // Everyone who pushes or flushes from now on is told.
                poison(e);
                return;
            }
            times.flushed(begin, System.nanoTime(), whole);
        }
    }

    private boolean awaitTurn(FlushTimes times) {
        waiting.lock();
        try {
            resting = true;
            await(times, true);
            resting = false;
            await(times, false);
            requested = false;
            return !stopped;
        } catch (InterruptedException e) {
            return !stopped;
        } finally {
            waiting.unlock();
        }
    }

    private void await(FlushTimes times, boolean rest) throws InterruptedException {
        long left = times.left(rest || requested, System.nanoTime());
        while (!stopped && left > 0) {
            wake.awaitNanos(left);
            left = times.left(rest || requested, System.nanoTime());
        }
    }

    /** Work on the files. */
    @FunctionalInterface
    public interface Syncing {
        /** Does it. */
        void run() throws IOException;
    }

    private void guarded(Syncing syncing) {
        try {
            syncing.run();
        } catch (ClosedException e) {
            throw e;
        } catch (IOException | RuntimeException | Error e) {
            // An Error, too: it may hide that an fsync has failed.
            poison(e);
            throwIfPoisoned();
        }
    }
}
