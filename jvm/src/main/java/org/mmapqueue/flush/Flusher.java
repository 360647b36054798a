package org.mmapqueue.flush;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.io.Threads;
import org.mmapqueue.segment.FillBlocks;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentSyncer;

/**
 * Decides when to fsync: by period, by count, and on request. {@link Syncer} decides what, in which order. Sync pushes
 * are served in {@linkplain GroupCommit groups}. Safe for any number of threads.
 *
 * <p>The recovery point ({@code watermark} in the format) is the writing position as it was before the fsync. It passes
 * no byte that has not been fsynced, except for bytes that every consumer has acked; these acks are fsynced before the
 * recovery point, or, for the default consumer, in the same sector. After a failed fsync no later fsync is trusted: the
 * kernel may have dropped the dirty pages.
 */
public final class Flusher implements Closeable {
    private final FlusherState state = new FlusherState();
    private final Syncer syncer;
    private final long periodNanos;
    private final GroupCommit group = new GroupCommit();
    /** Fair: otherwise the thread that has just fsynced would mostly take the lock again first. */
    private final ReentrantLock flushing = new ReentrantLock(true);
    /** Whether a flush has released the lock between two segments, and continues later. Guarded by the lock. */
    private boolean lent;

    private final ReentrantLock waiting = new ReentrantLock();
    private final Condition wake = waiting.newCondition();
    /** Threads that wait for {@link #flushing} to fsync acks. */
    private final AtomicInteger acksWaiting = new AtomicInteger();

    private final Thread thread;
    private volatile boolean requested;
    private volatile boolean hasLeft;
    private Runnable before = () -> {};
    /** Whether the thread is in the rest after a flush, which a request does not shorten. */
    private boolean resting;

    private boolean stopped;
    /** The thread's clock, in ns. */
    private LongSupplier clock;

    /**
     * A flusher that is not running yet.
     *
     * @param blocks chooses the block size of new files by the amount of each fsync
     * @param periodMillis the maximum time that a published record stays unsynced, in ms
     */
    public Flusher(
            String name,
            FlushedPages pages,
            Geometry geometry,
            FillBlocks blocks,
            SegmentSyncer segments,
            long periodMillis) {
        this.syncer = new Syncer(pages, geometry, blocks, segments, state, this::letAcksPass);
        this.periodNanos = TimeUnit.MILLISECONDS.toNanos(periodMillis);
        this.thread = new Thread(this::run, name);
        this.thread.setDaemon(true);
    }

    /** Sets what the thread does before each flush, without a lock; it throws nothing. */
    public void beforeFlush(Runnable work) {
        before = work;
    }

    public void start() {
        start(System::nanoTime);
    }

    /** Starts the thread with another clock, in ns, for tests. */
    void start(LongSupplier time) {
        clock = time;
        thread.start();
    }

    /** Requests a flush by the thread; does not wait for it. */
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
     * Waits until every record that ends at or before {@code position} is durable.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void awaitDurable(long position) {
        awaitDurable(() -> syncer.durableTo() >= position);
    }

    /**
     * Waits until every record that ends at or before {@code position} is durable, and something else that comes with it.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void awaitDurable(long position, BooleanSupplier also) {
        awaitDurable(() -> syncer.durableTo() >= position && also.getAsBoolean());
    }

    private void awaitDurable(BooleanSupplier done) {
        while (state.failure() != null || !done.getAsBoolean()) {
            StackRoom.ensure();
            state.check();
            group.run(() -> locked(syncer::syncRecords));
        }
    }

    /**
     * Waits until everything published before the call, every cursor and the recovery point are durable.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void flush() {
        locked(() -> {
            syncer.noteAmount();
            syncer.syncAll();
        });
    }

    /**
     * Fsyncs most of what has been published and acked, as the thread does on request. At most a quarter of the
     * unsynced records is left, where fsyncing them would delay producers.
     *
     * @throws PoisonedException when an fsync fails, or one has failed before
     */
    public void flushMost() {
        locked(() -> hasLeft = !syncer.syncMost());
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

    /** Whether the last flush on request left some records unsynced (at most a quarter). */
    public boolean hasLeft() {
        return hasLeft;
    }

    /**
     * Fsyncs the cursors, so that {@link #durableCommitted} passes a position that all consumers have passed. Fsyncs
     * records only as far as recovery needs them to find the low watermark.
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

    // Releases the lock for a moment between two segments: a large flush may take long while producers wait for
    // slots. Also another flush may take the lock then. It runs to its end: flushes are nested, so that each producer's
    // slot that is being fsynced is that of the innermost one.
    private void letAcksPass() {
        if (acksWaiting.get() > 0 && !lent) {
            lent = true;
            flushing.unlock();
            flushing.lock();
            lent = false;
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

    /** Poisons the writer: each later push and flush throws PoisonedException. The first cause stays. */
    public void poison(Throwable cause) {
        state.poison(cause);
    }

    /**
     * The durable low watermark: every consumer has acked everything before it, durably, so no recovery needs it. A
     * ring slot that ends before this position may be reused.
     */
    public long durableCommitted() {
        return syncer.durableCommitted();
    }

    /** Sets the initial {@link #durableCommitted}. The caller guarantees that all cursors are durable. */
    public void startAt(long committed) {
        syncer.startAt(committed);
    }

    /**
     * Lowers {@link #durableCommitted} to this position, until the next flush: a consumer was created or moved back.
     */
    public void durableAtMost(long committed) {
        StackRoom.ensure();
        syncer.durableAtMost(committed);
    }

    /**
     * Makes durable that nothing before this position is retained. Must be called before that part is overwritten:
     * after a loss of power the other cursors may be old, and only the position {@code intact} can be trusted.
     *
     * @throws PoisonedException when the fsync fails, or one has failed before
     */
    public void giveUpBefore(long position) {
        StackRoom.ensure();
        guarded(() -> syncer.giveUpBefore(position));
    }

    /** Runs {@code work} while no flush is running. */
    public void exclusively(Syncing work) throws IOException {
        StackRoom.lock(flushing);
        try {
            state.check();
            work.run();
        } finally {
            flushing.unlock();
        }
    }

    /** The failure that poisoned the writer, or null. */
    public Throwable failure() {
        return state.failure();
    }

    /** Throws {@link PoisonedException} when the writer is poisoned. */
    public void throwIfPoisoned() {
        state.throwIfPoisoned();
    }

    /** Stops the thread; does not flush. */
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

    /** Waits for the running fsyncs; every later call throws ClosedException. Does not flush: an fsync has failed. */
    public void abandon() {
        StackRoom.lock(flushing);
        try {
            syncer.end();
        } finally {
            flushing.unlock();
        }
    }

    /** Flushes for the last time; every later call throws ClosedException. */
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
        FlushTimes times = new FlushTimes(periodNanos, clock.getAsLong());
        while (awaitTurn(times)) {
            long begin = clock.getAsLong();
            boolean whole = true;
            try {
                before.run();
                if (times.isPeriodOver(begin)) {
                    locked(syncer::syncAll);
                } else {
                    flushMost();
                    whole = !hasLeft;
                }
            } catch (RuntimeException | Error e) {
                // Each later push and flush throws this failure.
                poison(e);
                return;
            }
            times.flushed(begin, clock.getAsLong(), whole);
        }
    }

    private boolean awaitTurn(FlushTimes times) {
        boolean isInterrupted = false;
        boolean goesOn;
        waiting.lock();
        try {
            resting = true;
            await(times, true);
            resting = false;
            await(times, false);
            requested = false;
        } catch (InterruptedException e) {
            isInterrupted = true;
        } finally {
            goesOn = !stopped;
            waiting.unlock();
        }
        if (isInterrupted) {
            Threads.wasInterrupted(); // without the lock: the log is the program's code, and may push
        }
        return goesOn;
    }

    private void await(FlushTimes times, boolean rest) throws InterruptedException {
        long left = times.left(rest || requested, clock.getAsLong());
        while (!stopped && left > 0) {
            wake.awaitNanos(left);
            left = times.left(rest || requested, clock.getAsLong());
        }
    }

    /** A step that may fsync. */
    @FunctionalInterface
    public interface Syncing {
        void run() throws IOException;
    }

    private void guarded(Syncing syncing) {
        try {
            syncing.run();
        } catch (ClosedException e) {
            throw e;
        } catch (IOException | RuntimeException | Error e) {
            // Also an Error: it may hide a failed fsync.
            poison(e);
            throwIfPoisoned();
        }
    }
}
