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
 * stays pinned.
 */
public abstract class Appender {
    /** Returned by append when the ring is full: nothing was stored. */
    public static final long FULL = -1;
    /** Returned by append when the queue has the producer's batch, or a later one, already. */
    public static final long DONE = -2;
    /** Returned by append when the producer has been forgotten: nothing was stored. */
    public static final long RETIRED = -3;
    /** A {@link #pendingEnd}: the append has rolled, and cannot be rolled back. */
    static final int BEYOND_REPAIR = -1;

    /** The ring that is appended to. */
    public interface Ring {
        /** Whether the slot of a future segment holds nothing that a consumer still needs. */
        boolean isFree(long segmentId);

        /**
         * Frees slots ahead of the writer. For the background thread: it may take as long as a flush.
         *
         * @return whether too few are free because they hold unacked records: the next ack may free some
         */
        boolean freeAhead(long segmentId);

        /** The writer has rolled into this segment. */
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

    /** The segment of the log end, pinned; null before the first push if the last segment is full. */
    Segment segment;

    long segmentId;
    int offset;
    private final AtomicLong endOffset = new AtomicLong();
    private volatile boolean closed;
    /**
     * Where the running append ends in the segment; 0 when none runs, {@link #BEYOND_REPAIR} when it cannot be rolled
     * back. A failed append leaves it set: the thread that locks the log end next rolls back or commits. Set by plain
     * stores, because any call may fail.
     */
    int pendingEnd;
    /** The offset after the records of that append. */
    long pendingNext;

    Appender(MetaPage meta, Swapper swapper, Flusher flusher, Ring ring, Settings settings) {
        this.meta = meta;
        this.swapper = swapper;
        this.flusher = flusher;
        this.ring = ring;
        this.geometry = settings.geometry();
        this.segmentSize = geometry.segmentSize();
        this.maxEventSize = settings.maxEventSize();
    }

    /** Sets the log end: {@code position} is the end of the last record, {@code nextOffset} that of the next one. */
    public final void start(long position, long nextOffset) throws IOException {
        segmentId = geometry.segmentOfEnd(position);
        offset = geometry.offsetOfEnd(position);
        endOffset.set(nextOffset);
        swapper.startAt(segmentId);
        if (offset < segmentSize) {
            segment = swapper.pin(segmentId);
            started();
        }
    }

    /** {@link #segment} is the segment of the log end. */
    abstract void started();

    /**
     * Appends one record.
     *
     * @return its offset, or {@link #FULL}
     */
    public abstract long append(byte[] source, int from, int length);

    /**
     * Appends one record, from a buffer. Its position stays.
     *
     * @return its offset, or {@link #FULL}
     */
    public abstract long append(ByteBuffer source, int from, int length);

    /**
     * Appends records that become visible together.
     *
     * @return the first one's offset, or {@link #FULL}
     */
    public abstract long append(Records batch);

    /**
     * Appends records that become visible together, unless the producer has pushed them, or later ones.
     *
     * @return the first one's offset, {@link #FULL}, {@link #DONE} or {@link #RETIRED}
     */
    public abstract long append(Records batch, IdempotentAppend once);

    /** The offset that the next record gets. */
    public final long endOffset() {
        return endOffset.get();
    }

    /** With the lock: records before this offset have been published. */
    public final void endOffset(long next) {
        endOffset.lazySet(next);
    }

    final void checkSize(int length) {
        if (length > maxEventSize) {
            throw new TooLargeException(
                    "a record of " + length + " bytes is larger than max_event_size = " + maxEventSize);
        }
    }

    /** With the lock. Throws ClosedException, PoisonedException; rolls back or commits an append that has failed. */
    final void checkUsable() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
        flusher.throwIfPoisoned();
        if (pendingEnd != 0) {
            rollBackOrCommit();
        }
    }

    /**
     * With the lock: rolls back or commits an append that has failed. Can be repeated when it fails.
     *
     * @throws org.mmapqueue.errors.PoisonedException when that is impossible
     */
    private void rollBackOrCommit() {
        StackRoom.ensure();
        if (pendingEnd == BEYOND_REPAIR) {
            throw poisoned(new IllegalStateException("an append failed half way"));
        }
        try {
            rollBack();
        } catch (IOException | RuntimeException | InternalError e) {
            if (e instanceof InternalError error && !isMappingFault(error)) {
                throw error;
            }
            pendingEnd = BEYOND_REPAIR;
            throw poisoned(e);
        }
    }

    /**
     * Rolls back the append that ends at {@link #pendingEnd}, or commits it if it has been published. Can be repeated
     * when it fails. Not called with {@link #BEYOND_REPAIR}.
     */
    abstract void rollBack() throws IOException;

    /**
     * With the lock, after an append has failed: rolls it back.
     *
     * @throws org.mmapqueue.errors.PoisonedException when that is impossible
     */
    final void failed(Throwable failure) {
        Throwable cause = isMappingFault(failure) ? explained((InternalError) failure) : failure;
        if (pendingEnd == 0) {
            if (cause instanceof CorruptException corrupt) {
                throw corrupt;
            }
            return;
        }
        if (isMappingFault(failure)) {
            pendingEnd = BEYOND_REPAIR;
        }
        if (pendingEnd == BEYOND_REPAIR) {
            throw poisoned(cause);
        }
        try {
            rollBackOrCommit();
        } catch (Error e) {
            // The next append does it.
        }
    }

    // A page of the mapping cannot be read or written. An InternalError with a cause is that of a call that could not
    // be linked at the end of the stack.
    private static boolean isMappingFault(Throwable failure) {
        return failure instanceof InternalError && failure.getCause() == null;
    }

    private Throwable explained(InternalError fault) {
        try {
            return TruncatedFiles.explain(fault, swapper.ring());
        } catch (InternalError e) {
            return e;
        }
    }

    /** Preallocates the segments after the log end up to {@code last}; false when one of their slots is not free. */
    final boolean reserve(long last) {
        if (last > segmentId) {
            StackRoom.ensure();
        }
        for (long id = segmentId + 1; id <= last; id++) {
            if (!ring.isFree(id)) {
                return false;
            }
        }
        try {
            for (long id = segmentId + 1; id <= last; id++) {
                swapper.preallocate(id);
            }
        } catch (IOException e) {
            throw new MmapQueueException(
                    "no segment could be preallocated, nothing was stored (is the disk full?): " + e, e);
        }
        return true;
    }

    /** Waits for the running append: a record that a reader has seen then ends before the writing position. */
    public final void awaitRunning() {
        StackRoom.ensure();
        lock.lock();
        lock.unlock();
    }

    /** No later append uses the producer's page. */
    public final void retire(ProducerPage page) {
        lock.lock();
        try {
            checkUsable();
            page.retire();
        } finally {
            lock.unlock();
        }
    }

    /** Poisons the writer: a record is half written, and the log end unknown. */
    final RuntimeException poisoned(Throwable cause) {
        flusher.poison(cause);
        flusher.throwIfPoisoned();
        throw new IllegalStateException(cause);
    }

    /** Waits for the running append; later ones throw ClosedException. */
    public final void close() {
        lock.lock();
        try {
            if (!closed && pendingEnd != 0 && flusher.failure() == null) {
                rollBackAtClose();
            }
            closed = true;
            pendingEnd = 0;
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

    // The next open of a queue that is marked as closed expects zeros after the log end.
    private void rollBackAtClose() {
        try {
            rollBackOrCommit();
        } catch (PoisonedException e) {
            // The queue is closed without the mark.
        }
    }
}
