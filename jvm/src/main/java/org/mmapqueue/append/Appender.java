package org.mmapqueue.append;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import org.mmapqueue.Records;
import org.mmapqueue.concurrent.SpinLock;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.log.TruncatedFiles;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Appends records at the log end. Safe for any number of threads: a lock guards the log end. The segment of the log end
 * stays pinned between calls.
 */
public abstract class Appender {
    /** Returned by append when the ring is full: nothing was stored. */
    public static final long FULL = -1;
    /** Returned by append when the log already has the producer's batch or a later one: nothing was stored. */
    public static final long DONE = -2;
    /** Returned by append when the producer has been deleted: nothing was stored. */
    public static final long RETIRED = -3;
    /** A {@link #pendingEnd}: the append can no longer be rolled back. */
    static final int BEYOND_REPAIR = -1;

    /** The free space of the ring, as the appender needs it. */
    public interface Ring {
        /** Frees the slot of a future segment; false if a consumer needs the records that it holds. */
        boolean tryFree(long segmentId);

        /** Notes that the writer has rolled into this segment. */
        void entered(long segmentId);
    }

    final SpinLock lock = new SpinLock();
    final MetaPage meta;
    final Swapper swapper;
    final Flusher flusher;
    final Ring ring;
    final Geometry geometry;
    final int segmentSize;
    final int maxEventSize;

    /** The segment of the log end, pinned; null before the first push after an open at the end of a segment. */
    Segment segment;

    long segmentId;
    /** The byte of that segment at which the log ends. */
    int endByte;

    private final AtomicLong endOffset = new AtomicLong();
    private volatile boolean closed;
    /**
     * End of the running append within the segment; 0 when none runs, {@link #BEYOND_REPAIR} when it cannot be rolled
     * back. A failed append leaves this set: the next thread that locks the log end rolls back or commits. Set by plain
     * stores, because any call may fail.
     */
    int pendingEnd;
    /** The offset after the records of the running append. */
    long pendingNext;
    /**
     * The last segment that a rolled-back append may have stored a header in, if later than {@link #segmentId}: the
     * segments up to it must be all zeros again before anything is appended. A recovery would otherwise take what is
     * left for the continuation of the log, since its epoch is the present one.
     */
    long staleUpTo = -1;

    Appender(MetaPage meta, Swapper swapper, Flusher flusher, Ring ring, Settings settings) {
        this.meta = meta;
        this.swapper = swapper;
        this.flusher = flusher;
        this.ring = ring;
        this.geometry = settings.geometry();
        this.segmentSize = geometry.segmentSize();
        this.maxEventSize = settings.maxEventSize();
    }

    /**
     * Sets the log end.
     *
     * @param position the end of the last record
     * @param nextOffset the offset of the next record
     */
    public final void start(long position, long nextOffset) throws IOException {
        segmentId = geometry.segmentOfEnd(position);
        endByte = geometry.byteOfEnd(position);
        endOffset.set(nextOffset);
        swapper.startAt(segmentId);
        if (endByte < segmentSize) {
            segment = swapper.pin(segmentId);
            started();
        }
    }

    /** Called when {@link #segment} is the segment of the log end. */
    abstract void started();

    /**
     * Appends one record. Does not wait for space.
     *
     * @return its offset, or {@link #FULL}
     */
    public abstract long append(byte[] source, int from, int length);

    /**
     * Appends one record from a buffer, and leaves the buffer's position as it is.
     *
     * @return its offset, or {@link #FULL}
     */
    public abstract long append(ByteBuffer source, int from, int length);

    /**
     * Appends a batch: its records become visible together.
     *
     * @return the first one's offset, or {@link #FULL}
     */
    public abstract long append(Records batch);

    /**
     * Appends a batch, unless the producer has already appended it or a later one.
     *
     * @return the first one's offset, {@link #FULL}, {@link #DONE} or {@link #RETIRED}
     */
    public abstract long append(Records batch, IdempotentAppend once);

    /** The offset that the next record gets. */
    public final long endOffset() {
        return endOffset.get();
    }

    /** As {@link #endOffset}, after the append that may be running. */
    public final long settledEndOffset() {
        lock.lock();
        try {
            return endOffset.get();
        } finally {
            lock.unlock();
        }
    }

    /** Sets the offset of the next record: all records before it have been published. Needs the lock. */
    public final void endOffset(long next) {
        endOffset.lazySet(next);
    }

    final void checkSize(int length) {
        if (length > maxEventSize) {
            throw new TooLargeException(
                    "a record of " + length + " bytes is larger than max_event_size = " + maxEventSize);
        }
    }

    /**
     * Throws ClosedException or PoisonedException when no append is allowed; rolls back or commits a failed append.
     * Needs the lock.
     */
    final void checkUsable() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
        flusher.throwIfPoisoned();
        settle();
    }

    // Ends a failed append: rolls it back or commits it, and clears the segments that it has rolled into. Idempotent,
    // also when it fails.
    private void settle() {
        if (pendingEnd != 0) {
            rollBackOrCommit();
        }
        if (staleUpTo > segmentId) {
            clearStale();
        }
    }

    private void clearStale() {
        StackRoom.ensure();
        while (staleUpTo > segmentId) {
            try {
                swapper.preallocate(staleUpTo);
            } catch (IOException e) {
                throw new MmapQueueException(
                        "the segment file " + swapper.path(staleUpTo)
                                + " could not be cleared after a failed push, nothing was stored: " + e,
                        e);
            } catch (InternalError e) {
                throw faulty(e);
            }
            try {
                swapper.forceBytes(staleUpTo, 0, segmentSize);
            } catch (IOException | RuntimeException e) {
                throw poisoned(e);
            } catch (InternalError e) {
                throw faulty(e);
            }
            staleUpTo--;
        }
    }

    // Poisons the writer when a page of a mapping cannot be written; throws any other error as it is.
    private RuntimeException faulty(InternalError error) {
        if (!TruncatedFiles.isMappingFault(error)) {
            throw error;
        }
        throw poisoned(TruncatedFiles.explain(error, swapper.ring()));
    }

    /**
     * Rolls back or commits a failed append. Idempotent, also when it fails. Needs the lock.
     *
     * @throws org.mmapqueue.errors.PoisonedException when neither is possible
     */
    private void rollBackOrCommit() {
        StackRoom.ensure();
        if (pendingEnd == BEYOND_REPAIR) {
            throw poisoned(new IllegalStateException("an append failed halfway"));
        }
        try {
            rollBack();
        } catch (IOException | RuntimeException | InternalError e) {
            if (e instanceof InternalError error && !TruncatedFiles.isMappingFault(error)) {
                throw error;
            }
            pendingEnd = BEYOND_REPAIR;
            throw poisoned(e);
        }
    }

    /**
     * Rolls back the append that ends at {@link #pendingEnd}, or commits it if it has been published. Idempotent, also
     * when it fails. Not called with {@link #BEYOND_REPAIR}.
     */
    abstract void rollBack() throws IOException;

    /**
     * Rolls back after an append has failed. Needs the lock.
     *
     * @throws org.mmapqueue.errors.PoisonedException when that is impossible
     */
    final void failed(Throwable failure) {
        boolean isFault = TruncatedFiles.isMappingFault(failure);
        Throwable cause = isFault ? TruncatedFiles.explain((InternalError) failure, swapper.ring()) : failure;
        if (pendingEnd == 0) {
            if (cause instanceof CorruptException corrupt) {
                throw corrupt;
            }
            if (isFault) {
                throw poisoned(cause); // the JVM reports faults late: a store of an earlier append may be lost
            }
            return;
        }
        if (isFault || pendingEnd == BEYOND_REPAIR) {
            pendingEnd = BEYOND_REPAIR;
            throw poisoned(cause);
        }
        try {
            settle();
        } catch (PoisonedException e) {
            throw e;
        } catch (MmapQueueException | Error e) {
            // The next append tries it again.
        }
    }

    /** Returns the exception for a failed roll into a segment. */
    final MmapQueueException notEntered(long id, IOException cause) {
        return new MmapQueueException(
                "the segment file " + swapper.path(id) + " could not be opened or mapped, nothing was stored: " + cause,
                cause);
    }

    /** Preallocates the segments after the log end up to {@code last}; false when one of their slots cannot be freed. */
    final boolean reserve(long last) {
        if (last > segmentId) {
            StackRoom.ensure();
        }
        for (long id = segmentId + 1; id <= last; id++) {
            if (!ring.tryFree(id)) {
                return false;
            }
        }
        for (long id = segmentId + 1; id <= last; id++) {
            try {
                swapper.preallocate(id);
            } catch (IOException e) {
                throw new MmapQueueException(
                        "no segment could be preallocated, nothing was stored (is the disk full?): " + swapper.path(id)
                                + ": " + e,
                        e);
            }
        }
        return true;
    }

    /**
     * Waits for the running append. Afterwards a record that a reader has seen ends at or before the writing position.
     */
    public final void awaitRunning() {
        StackRoom.ensure();
        lock.lock();
        lock.unlock();
    }

    /** Retires the producer's page: no later append uses it. */
    public final void retire(ProducerPage page) {
        lock.lock();
        try {
            checkUsable();
            page.retire();
        } finally {
            lock.unlock();
        }
    }

    /** Poisons the writer: a record is half written, and the log end is unknown. */
    final RuntimeException poisoned(Throwable cause) {
        flusher.poison(cause);
        flusher.throwIfPoisoned();
        throw new IllegalStateException(cause);
    }

    /** Waits for the running append; later appends throw ClosedException. */
    public final void close() {
        lock.lock();
        try {
            if (!closed && flusher.failure() == null) {
                settleAtClose();
            }
            closed = true;
            pendingEnd = 0;
            releasePending();
            if (segment != null) {
                swapper.unpin(segment);
                segment = null;
            }
        } finally {
            lock.unlock();
        }
    }

    public final boolean isClosed() {
        return closed;
    }

    /** A lower bound of the timestamps of later records, in µs since 1970. Called after {@link #close}. */
    public long newest() {
        return 0;
    }

    /** Whether the bytes after the log end are zeros, as a clean close promises. Called after {@link #close}. */
    public final boolean endsClean() {
        lock.lock();
        try {
            return staleUpTo <= segmentId;
        } finally {
            lock.unlock();
        }
    }

    /** Releases the pins of the running append, but for {@link #segment}. Idempotent. */
    abstract void releasePending();

    // A clean close promises zeros after the log end, which the next open relies on.
    private void settleAtClose() {
        try {
            settle();
        } catch (MmapQueueException e) {
            // The queue is then closed without the clean flag.
        }
    }
}
