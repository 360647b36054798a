package org.mmapqueue.flush;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
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
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentForcer;

/**
 * Forces the producers' slots, data segments, the consumers' cursors, then the watermark; by period, by count, and on
 * request. Requests group themselves: whoever holds the lock forces everything published by then, and those who waited
 * for it meanwhile find their records covered. Safe for any number of threads.
 *
 * <p>The watermark is the writing position as it was BEFORE the force, so it never passes a byte that has not been
 * forced, but for those that every consumer had acked by then: they are never needed again. The acks that say so reach
 * the disk before the watermark, or (the default consumer's) in the same sector. After a force that failed the kernel
 * may have dropped the pages and forgotten it: none is trusted any more.
 */
public final class Flusher implements Closeable {
    private final MetaPage meta;
    private final SegmentForcer segments;
    private final Geometry geometry;
    private final Supplier<List<? extends ConsumerCursors>> consumers;
    private final Supplier<List<ProducerPage>> producers;
    private final long periodNanos;
    /** Fair: who waits may find its records durable by now, and whoever has just forced would take it first again. */
    private final ReentrantLock flushing = new ReentrantLock(true);
    private final ReentrantLock waiting = new ReentrantLock();
    private final Condition wake = waiting.newCondition();
    private final Thread thread;
    private boolean requested;
    private boolean stopped;
    private boolean ended;
    private long[] forcedMoving = {};
    private long[] forcedNeeded = {};
    private volatile long durableCommitted;
    private volatile Throwable failure;

    /**
     * A flusher that is not running yet.
     *
     * @param name the thread's name
     * @param consumers the cursors of all consumers, as they are at the time of the call
     * @param producers the pages of all producers, as they are at the time of the call
     * @param periodMillis the longest that a published record stays unforced, in ms
     */
    public Flusher(String name, MetaPage meta, Geometry geometry, SegmentForcer segments,
            Supplier<List<? extends ConsumerCursors>> consumers, Supplier<List<ProducerPage>> producers,
            long periodMillis) {
        this.meta = meta;
        this.geometry = geometry;
        this.segments = segments;
        this.consumers = consumers;
        this.producers = producers;
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
        StackRoom.ensure();
        waiting.lock();
        try {
            requested = true;
            wake.signal();
        } finally {
            waiting.unlock();
        }
    }

    /**
     * Returns when every record that ends at or before {@code position} is on the disk.
     *
     * @throws PoisonedException when a force fails, or one has failed before
     */
    public void awaitDurable(long position) {
        awaitDurable(() -> meta.watermark() >= position);
    }

    /**
     * Returns when every record that ends at or before {@code position}, and what a producer has pushed up to a
     * sequence, are on the disk.
     *
     * @throws PoisonedException when a force fails, or one has failed before
     */
    public void awaitDurable(long position, ProducerPage producer, long sequence) {
        awaitDurable(() -> meta.watermark() >= position && producer.isDurable(sequence));
    }

    private void awaitDurable(BooleanSupplier done) {
        if (failure == null && done.getAsBoolean()) {
            return;
        }
        StackRoom.ensure();
        flushing.lock();
        try {
            checkUsable();
            if (!done.getAsBoolean()) {
                guarded(this::forceRecords);
            }
        } finally {
            flushing.unlock();
        }
    }

    /**
     * Returns when everything published before the call, every cursor and the watermark are on the disk.
     *
     * @throws PoisonedException when a force fails, or one has failed before
     */
    public void flush() {
        StackRoom.ensure();
        flushing.lock();
        try {
            checkUsable();
            guarded(this::forceAll);
        } finally {
            flushing.unlock();
        }
    }

    /**
     * Marks the writer as not to be trusted any more; the first cause stays.
     *
     * @param cause what went wrong
     */
    public void poison(Throwable cause) {
        if (failure == null) {
            failure = cause;
        }
    }

    /**
     * Every consumer's committed position is on the disk up to here: a ring slot that ends before it may be used again,
     * and even after a loss of power nobody will look for what it held.
     */
    public long durableCommitted() {
        return durableCommitted;
    }

    /** Says what {@link #durableCommitted} is at the beginning. */
    public void startAt(long committed) {
        durableCommitted = committed;
    }

    /**
     * A consumer has been moved back, or made, at or behind this position: what was forced before does not count beyond
     * it, until the next flush.
     */
    public void durableAtMost(long committed) {
        StackRoom.ensure();
        flushing.lock();
        try {
            durableCommitted = Math.min(durableCommitted, committed);
        } finally {
            flushing.unlock();
        }
    }

    /**
     * Returns when the disk says that nothing before this position is retained any more. To be done before it is
     * overwritten: what the disk says of the ring may be old, and then only that it is intact can be trusted.
     *
     * @throws PoisonedException when the force fails, or one has failed before
     */
    public void giveUpBefore(long position) {
        flushing.lock();
        try {
            checkUsable();
            meta.intact(Math.max(meta.intact(), position));
            guarded(meta::force);
        } finally {
            flushing.unlock();
        }
    }

    /** Does something while nothing is being forced. */
    public void exclusively(Forcing work) throws IOException {
        StackRoom.ensure();
        flushing.lock();
        try {
            checkUsable();
            work.run();
        } finally {
            flushing.unlock();
        }
    }

    /** What poisoned the writer, or null. */
    public Throwable failure() {
        return failure;
    }

    /** Raises {@link PoisonedException} when the writer is poisoned. */
    public void throwIfPoisoned() {
        Throwable cause = failure;
        if (cause != null) {
            throw new PoisonedException("an earlier failure makes the writer unsafe; close the queue and open it again:"
                    + " " + cause, cause);
        }
    }

    /** Stops the thread; does not flush. Calls after {@link #end} raise ClosedException. */
    @Override
    public void close() {
        StackRoom.ensure();
        waiting.lock();
        try {
            stopped = true;
            wake.signal();
        } finally {
            waiting.unlock();
        }
        Threads.join(thread);
    }

    /** Forces everything for the last time, as {@link #flush} does; every later call raises ClosedException. */
    public void end() {
        StackRoom.ensure();
        flushing.lock();
        try {
            flush();
        } finally {
            ended = true;
            flushing.unlock();
        }
    }

    private void checkUsable() {
        if (ended) {
            throw new ClosedException("the queue is closed");
        }
        throwIfPoisoned();
    }

    private void run() {
        while (awaitTurn()) {
            try {
                flush();
            } catch (RuntimeException | Error e) {
                // Everyone who pushes or flushes from now on is told.
                poison(e);
                return;
            }
        }
    }

    private boolean awaitTurn() {
        waiting.lock();
        try {
            long left = periodNanos;
            while (!stopped && !requested && left > 0) {
                left = wake.awaitNanos(left);
            }
            requested = false;
            return !stopped;
        } catch (InterruptedException e) {
            return !stopped;
        } finally {
            waiting.unlock();
        }
    }

    /** Work on the files. */
    @FunctionalInterface
    public interface Forcing {
        /** Does it. */
        void run() throws IOException;
    }

    private void guarded(Forcing forcing) {
        try {
            forcing.run();
        } catch (IOException | RuntimeException | Error e) {
            // An Error, too: it may hide that a force has failed.
            poison(e);
            throwIfPoisoned();
        }
    }

    /**
     * Forces what has been published since the last time, up to {@code target}. Without retention, segments before
     * {@code needed} are left out: nobody will read them again, once the cursors that say so are on the disk. The
     * segment that holds {@code needed} is forced from its beginning, because finding the number of a record begins
     * there; so is the last one, for the number of the next record, even when all of it has been acked.
     */
    private void forceData(long target, long needed) throws IOException {
        long from = meta.watermark();
        if (target <= from) {
            return;
        }
        long last = geometry.segmentOfEnd(target);
        if (meta.isRetaining()) {
            needed = 0;
        }
        // An id a lap behind shares its slot with a later one.
        long first = Math.max(Math.min(geometry.segmentOf(needed), last), last - geometry.capacity() + 1);
        if (geometry.segmentOf(from) < first) {
            from = geometry.position(first, 0);
            meta.intact(Math.max(meta.intact(), from));
        }
        for (long id = geometry.segmentOf(from); id <= last; id++) {
            int start = (int) Math.max(0, from - geometry.position(id, 0));
            int end = id == last ? geometry.offsetOfEnd(target) : geometry.segmentSize();
            segments.force(id, start, end);
        }
    }

    private void forceRecords() throws IOException {
        long target = meta.writing();
        List<ProducerPage> slots = forceSlots();
        forceData(slots.isEmpty() ? target : meta.writing(), durableCommitted);
        meta.watermark(Math.max(target, meta.watermark()));
        slots.forEach(ProducerPage::endForce);
    }

    /**
     * Forces the slots of all batches that end before the writing position as it was before the call, at least: the
     * watermark is not to pass a batch whose slot could get lost. A slot that is forced counts nothing without its
     * batch, so these come first; and the log is to be forced up to where it ends by then.
     *
     * @return what has been forced, to be told when all else is, too
     */
    private List<ProducerPage> forceSlots() throws IOException {
        List<ProducerPage> all = producers.get();
        if (all.isEmpty()) {
            return all;
        }
        List<ProducerPage> forced = new ArrayList<>();
        for (ProducerPage page : all) {
            if (page.beginForce(meta::writing)) {
                page.force();
                forced.add(page);
            }
        }
        return forced;
    }

    private void forceAll() throws IOException {
        // Before the cursors are read: one that is moved back meanwhile makes what is read here worthless.
        long changes = meta.consumerChanges();
        List<? extends ConsumerCursors> all = consumers.get();
        // Read once: what is remembered as forced must be what was forced.
        long[] moving = {meta.writing(), meta.reading(), meta.committed()};
        long slowest = all.isEmpty() ? meta.reclaimed() : moving[0];
        long[] needed = new long[all.size()];
        for (int i = 0; i < needed.length; i++) {
            needed[i] = all.get(i).needed();
            slowest = Math.min(slowest, needed[i]);
        }
        if (Arrays.equals(moving, forcedMoving) && Arrays.equals(needed, forcedNeeded)
                && durableCommitted == slowest && producers.get().stream().noneMatch(ProducerPage::isDirty)) {
            return;
        }
        long target = meta.writing();
        List<ProducerPage> slots = forceSlots();
        forceData(slots.isEmpty() ? target : meta.writing(), slowest);
        for (ConsumerCursors consumer : all) {
            if (consumer != meta) {
                consumer.force();
            }
        }
        // Not before: the kernel may write this word to the disk at any time.
        meta.watermark(Math.max(target, meta.watermark()));
        meta.mirror();
        meta.force();
        slots.forEach(ProducerPage::endForce);
        forcedMoving = moving;
        forcedNeeded = needed;
        durableCommitted = meta.consumerChanges() == changes ? slowest : Math.min(slowest, meta.reclaimed());
    }
}
