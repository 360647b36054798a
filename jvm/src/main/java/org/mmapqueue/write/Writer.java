package org.mmapqueue.write;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.mmapqueue.Records;
import org.mmapqueue.append.Appender;
import org.mmapqueue.append.AppenderV1;
import org.mmapqueue.append.AppenderV2;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.flush.FlushedPages;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.OpenFiles;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.metrics.RecordCounter;
import org.mmapqueue.registry.Producers;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * The writing side of an open queue: the log end, the free space of the ring, and the threads that flush and
 * preallocate. Safe for any number of threads.
 */
public final class Writer implements Closeable {
    private final Path directory;
    private final Settings settings;
    private final Geometry geometry;
    private final MetaPage meta;
    private final SegmentRing ring;
    private final Swapper swapper;
    private final Registry registry;
    private final Log log;
    private final Flusher flusher;
    private final RingSpace space;
    private final AgeLimit ageLimit;
    private final Housekeeper housekeeper;
    private final Appender appender;
    private final IdempotentProducers producers;
    private final Signal notEmpty;
    private final Signal notFull;
    private final Supplier<String> heldBy;
    private final WriterMeters meters = new WriterMeters();
    private volatile long flushAt;
    private Flusher.Syncing saves = () -> {};

    /**
     * The signals of an open queue.
     *
     * @param notEmpty wakes waiting consumers
     * @param notFull wakes waiting producers
     */
    public record Wakeups(Signal notEmpty, Signal notFull) {}

    /**
     * Makes a writer. Its threads are not running yet.
     *
     * @param producers the idempotent producers; null in version 1
     * @param tail the log end
     * @param heldBy says what retains the ring
     */
    public Writer(OpenFiles files, Producers producers, Log log, LogEnd tail, Wakeups wakeups, Supplier<String> heldBy)
            throws IOException {
        this.directory = files.directory();
        this.settings = files.settings();
        this.geometry = settings.geometry();
        this.meta = files.meta();
        this.ring = files.ring();
        this.swapper = files.swapper();
        this.registry = files.registry();
        this.log = log;
        this.notEmpty = wakeups.notEmpty;
        this.notFull = wakeups.notFull;
        this.heldBy = heldBy;
        String name = "mmapqueue-" + directory.getFileName();
        this.flusher = new Flusher(
                name + "-flusher",
                new FlushedPages(meta, registry::cursors, producers == null ? List::of : producers::pages),
                geometry,
                ring.blocks(),
                meters.measured(swapper),
                settings.flushPeriodMillis());
        this.space = new RingSpace(settings, meta, swapper, registry, flusher);
        retain(settings.retention());
        space.start();
        this.ageLimit = ageLimit(InstantSource.system(), System::nanoTime);
        this.housekeeper = new Housekeeper(
                name + "-housekeeper",
                swapper,
                space,
                settings,
                new Housekeeper.Idle(
                        settings.gcOnIdleMillis(), () -> meta.writing() + registry.lowWatermark(), this::gc),
                new Housekeeper.Periodic(ageLimit.periodMillis(), this::dropAged));
        this.appender = geometry.format() == Format.V1
                ? new AppenderV1(meta, swapper, flusher, housekeeper, settings)
                : new AppenderV2(meta, swapper, flusher, housekeeper, settings, tail.lastTimestamp());
        appender.start(tail.position(), tail.nextOffset());
        this.producers = new IdempotentProducers(directory, meta, this, appender, flusher, producers);
        flushAt = tail.nextOffset() + settings.flushCeilingNum() - 1;
    }

    /** A limit by these clocks. */
    AgeLimit ageLimit(InstantSource clock, LongSupplier nanos) {
        // Where the ring overflows, the archive's retention does it.
        long maxAgeMillis = settings.archiving().overflows() ? 0 : settings.maxAgeMillis();
        return new AgeLimit(directory, maxAgeMillis, log, space, new AgeLimit.Clocks(clock, nanos), () -> {
            notFull.signalAll();
            notEmpty.signalAll(); // a consumer that waits for room in its window throws DroppedException
            spaceMayBeFree();
        });
    }

    /** Drops the records that are older than max_age for the consumers that have not acked them. */
    public void dropAged() {
        ageLimit.run();
        space.tell();
    }

    /** What was measured since the queue was opened. */
    public WriterMeters meters() {
        return meters;
    }

    /**
     * Counts the records dropped for a consumer since the queue was opened, by age or lag, and their bytes in the log.
     */
    public RecordCounter dropped(String consumer) {
        return space.dropped(consumer);
    }

    private void retain(Settings.Retention retention) throws IOException {
        if (meta.retainMillis() != retention.millis() || meta.retainBytes() != retention.bytes()) {
            meta.retain(retention.millis(), retention.bytes());
            meta.force(); // recovery must know whether acked records are retained
        }
    }

    /** Sets what each flush saves, too; the second form is for the flusher's thread, and throws nothing. */
    public void saves(Flusher.Syncing work, Runnable inBackground) {
        saves = work;
        flusher.beforeFlush(inBackground);
    }

    /**
     * Sets what is called when the archive does not have what the ring would give up. It takes no lock of a caller, and
     * returns at once.
     */
    public void whenShort(Runnable work) {
        space.whenShort(work);
    }

    public void start() {
        flusher.start();
        housekeeper.start();
    }

    /** The housekeeper, for tests that run its steps themselves. */
    public Housekeeper housekeeper() {
        return housekeeper;
    }

    public Flusher flusher() {
        return flusher;
    }

    public long push(byte[] source, int from, int length) {
        return stored(offer(source, from, length));
    }

    /** As push, but returns {@link Appender#FULL} at once when there is no space. */
    public long offer(byte[] source, int from, int length) {
        return pushed(appender.append(source, from, length), 1);
    }

    /** Pushes without waiting; does not change the buffer's position. */
    public long push(ByteBuffer source) {
        return stored(pushed(appender.append(source, source.position(), source.remaining()), 1));
    }

    /** Waits for space, and throws FullException at the timeout; does not change the buffer's position. */
    public long push(ByteBuffer source, long timeoutNanos, BooleanSupplier gone) throws InterruptedException {
        return stored(
                offer(() -> appender.append(source, source.position(), source.remaining()), 1, timeoutNanos, gone));
    }

    /** Waits for space until {@code gone} is true, which means that the caller's handle was closed. */
    public long push(byte[] source, int from, int length, long timeoutNanos, BooleanSupplier gone)
            throws InterruptedException {
        return stored(offer(source, from, length, timeoutNanos, gone));
    }

    /** As push, but returns {@link Appender#FULL} when there is no space within the timeout. */
    public long offer(byte[] source, int from, int length, long timeoutNanos, BooleanSupplier gone)
            throws InterruptedException {
        return offer(() -> appender.append(source, from, length), 1, timeoutNanos, gone);
    }

    public long push(Records batch, long timeoutNanos, BooleanSupplier gone) throws InterruptedException {
        return stored(offer(() -> appender.append(batch), batch.count(), timeoutNanos, gone));
    }

    public long push(Records batch) {
        return stored(pushed(appender.append(batch), batch.count()));
    }

    /** Returns the offset, or throws FullException if the append found no space. */
    long stored(long offset) {
        if (offset == Appender.FULL) {
            throw full();
        }
        return offset;
    }

    /** Idempotent producers. */
    public IdempotentProducers producers() {
        return producers;
    }

    /** One attempt to append. */
    interface Append {
        /** The first offset, or a negative status of {@link Appender}. */
        long run();
    }

    /** Appends {@code count} records; waits for space until {@code gone} is true. */
    long offer(Append append, int count, long timeoutNanos, BooleanSupplier gone) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long deadline = System.nanoTime() + timeoutNanos;
        RoomWait wait = null;
        while (true) {
            if (gone.getAsBoolean()) {
                throw new ClosedException("this handle of the queue was closed");
            }
            long seen = passable();
            long offset = pushed(append.run(), count);
            if (offset != Appender.FULL || deadline - System.nanoTime() <= 0) {
                if (wait != null && offset != Appender.FULL) {
                    meters.foundRoom();
                }
                return offset;
            }
            if (wait == null) {
                wait = newWait();
            }
            wait.goesOn();
            meters.await(notFull, deadline, () -> gone.getAsBoolean() || passable() != seen || registry.isStale());
        }
    }

    // Counts an append of count records, and requests a flush at the ceiling. A negative offset: nothing was stored.
    private long pushed(long offset, int count) {
        if (offset >= 0) {
            pushed(offset + count - 1);
        }
        return offset;
    }

    private void pushed(long lastOffset) {
        notEmpty.signalAll();
        if (lastOffset >= flushAt) {
            int ceiling = settings.flushCeilingNum();
            // Records that the last flush has left unsynced count towards the next ceiling.
            flushAt = lastOffset + (flusher.hasLeft() ? ceiling - ceiling / 4 : ceiling);
            flusher.request();
        }
    }

    /** {@return a wait for room that begins now} */
    public RoomWait newWait() {
        return new RoomWait(directory, heldBy);
    }

    private FullException full() {
        return new FullException("the queue in " + directory + " is full: its " + geometry.capacity() + " segments of "
                + geometry.segmentSize() + " bytes hold records that are not acked; " + heldBy.get());
    }

    /** The position before which the ring can give up its records. */
    public long passable() {
        try {
            return space.passable();
        } catch (InternalError e) {
            throw log.explain(e);
        }
    }

    public long endOffset() {
        return appender.endOffset();
    }

    /** As {@link #endOffset}, after the push that may be running. */
    public long settledEndOffset() {
        return appender.settledEndOffset();
    }

    public void awaitDurable() {
        try {
            flusher.awaitDurable(meta.writing());
        } catch (InternalError e) {
            throw log.explain(e);
        }
    }

    public void flush() {
        try {
            appender.awaitRunning();
            flusher.flush();
            saves.run();
        } catch (IOException e) {
            throw new MmapQueueException("the in-flight records of " + directory + " could not be saved: " + e, e);
        } catch (InternalError e) {
            throw log.explain(e);
        }
    }

    /** Notes that acks, or the deletion of a consumer, may have made slots free. */
    public void spaceMayBeFree() {
        housekeeper.onSpace();
    }

    /** Deletes the ring files that hold no retained record; returns the bytes of disk space that were released. */
    public long gc() {
        try {
            return new Gc(ring, meta, swapper, space, flusher).run(log.head());
        } catch (IOException e) {
            throw new MmapQueueException("not all free ring files of " + directory + " could be deleted: " + e, e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            space.tell();
        }
    }

    /** Waits for the running append; later appends throw ClosedException. */
    public void stopAppending() {
        appender.close();
    }

    public boolean isStopped() {
        return appender.isClosed();
    }

    /** Stops the threads; fsyncs everything, unless an fsync has failed before. */
    @Override
    public void close() throws IOException {
        housekeeper.close();
        space.tell();
        flusher.close();
        if (flusher.failure() != null) {
            flusher.abandon();
            return;
        }
        flusher.end();
        if (appender.endsClean()) {
            meta.closedAt(appender.endOffset(), appender.newest());
            meta.clean(true);
        }
    }
}
