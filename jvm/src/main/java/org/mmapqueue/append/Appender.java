package org.mmapqueue.append;

import java.io.IOException;
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
 * Appends records at the end of the log. Any number of threads; the claim lets one at a time move the tail. The
 * segment that the tail is in stays pinned.
 */
public abstract class Appender {
    /** What append returns when there is no room: nothing was stored. */
    public static final long FULL = -1;
    /** What append returns when the producer's batch, or a later one, is in the queue already. */
    public static final long DONE = -2;
    /** What append returns when the producer has been forgotten meanwhile: nothing was stored. */
    public static final long RETIRED = -3;
    /** A {@link #pendingEnd}: segments were entered, or parts of the tail were moved, that can not be taken back. */
    static final int BEYOND_REPAIR = -1;

    /** What the ring tells and wants to be told. */
    public interface Ring {
        /** Whether the slot of a future segment holds nothing that a consumer still needs. */
        boolean isFree(long segmentId);

        /**
         * Sees to it, ahead of time, that slots are free in good number. For the background thread: it may take as long
         * as a flush.
         *
         * @return whether they are not, because they hold what is not acked: acks are worth another look
         */
        boolean freeAhead(long segmentId);

        /** The writer has gone into this segment. */
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

    /** The segment of the tail, pinned; null before the first push of a queue whose last segment is used up. */
    Segment segment;

    long segmentId;
    int offset;
    private final AtomicLong endOffset = new AtomicLong();
    private volatile boolean closed;
    /**
     * Where the append ends that is under way; 0 when none is, {@link #BEYOND_REPAIR} when it can not be undone. It is
     * still set after one that has failed. A thread may fail at any call, so what an append leaves behind is told by
     * stores to fields alone, and put in order by whoever claims the tail next.
     */
    int pendingEnd;
    /** The offset behind the records of that append. */
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

    /** Puts the tail behind the record that ends at {@code position}; the next record gets {@code nextOffset}. */
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

    /** The tail stands in {@link #segment}. */
    abstract void started();

    /**
     * Appends one record.
     *
     * @return its offset, or {@link #FULL}
     */
    public abstract long append(byte[] source, int from, int length);

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

    /** Inside the claim: records up to this offset, exclusively, have been published. */
    public final void endOffset(long next) {
        endOffset.lazySet(next);
    }

    /** The id of the segment that the tail is in; 0 before the first. Any thread. */
    final long tailSegment() {
        return Math.max(0, geometry.segmentOfEnd(meta.writing()));
    }

    final void checkSize(int length) {
        if (length > maxEventSize) {
            throw new TooLargeException(
                    "a record of " + length + " bytes is larger than max_event_size = " + maxEventSize);
        }
    }

    /** Inside the claim. */
    final void checkUsable() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
        flusher.throwIfPoisoned();
        if (pendingEnd != 0) {
            settle();
        }
    }

    /**
     * Inside the claim: puts the tail in order after an append that has failed. May fail itself, and be repeated.
     *
     * @throws org.mmapqueue.errors.PoisonedException when that can not be done
     */
    private void settle() {
        if (pendingEnd == BEYOND_REPAIR) {
            throw poisoned(new IllegalStateException("an append failed half way"));
        }
        try {
            undo();
        } catch (IOException | RuntimeException | InternalError e) {
            if (e instanceof InternalError error && !isOfMemory(error)) {
                throw error;
            }
            pendingEnd = BEYOND_REPAIR;
            throw poisoned(e);
        }
    }

    /**
     * Undoes the append that ends at {@link #pendingEnd}, or completes it when it has been published; can be repeated
     * from the beginning whenever it fails. Not called when that is {@link #BEYOND_REPAIR}.
     */
    abstract void undo() throws IOException;

    /**
     * Inside the claim, after an append has failed: others are to go on as if it had not begun. Returns when they can.
     *
     * @throws org.mmapqueue.errors.PoisonedException when it can not be undone
     */
    final void failed(Throwable failure) {
        Throwable cause = isOfMemory(failure) ? explained((InternalError) failure) : failure;
        if (pendingEnd == 0) {
            if (cause instanceof CorruptException corrupt) {
                throw corrupt;
            }
            return;
        }
        if (isOfMemory(failure)) {
            pendingEnd = BEYOND_REPAIR;
        }
        if (pendingEnd == BEYOND_REPAIR) {
            throw poisoned(cause);
        }
        try {
            settle();
        } catch (Error e) {
            // Whoever claims the tail next does it, and has more room.
        }
    }

    // A page of the mapping can not be had: zeros would not get there, either. What the JVM raises at the end of the
    // stack, when it has to link a call first, has a cause.
    private static boolean isOfMemory(Throwable failure) {
        return failure instanceof InternalError && failure.getCause() == null;
    }

    private Throwable explained(InternalError fault) {
        try {
            return TruncatedFiles.explain(fault, swapper.ring());
        } catch (InternalError e) {
            return e;
        }
    }

    /** Prepares the segments behind the tail up to {@code last}; false when a consumer still needs one of them. */
    final boolean reserve(long last) {
        if (last > segmentId) {
            StackRoom.ensureForLocks();
        }
        for (long id = segmentId + 1; id <= last; id++) {
            if (!ring.isFree(id)) {
                return false;
            }
        }
        try {
            for (long id = segmentId + 1; id <= last; id++) {
                swapper.prepare(id);
            }
        } catch (IOException e) {
            throw new MmapQueueException(
                    "no segment could be prepared, nothing was stored (is the disk full?): " + e, e);
        }
        return true;
    }

    /** Lets no append use a producer's page any more. */
    public final void retire(ProducerPage page) {
        lock.lock();
        try {
            checkUsable();
            page.retire();
        } finally {
            lock.unlock();
        }
    }

    /** A failure with a record half written: what is there can not be told from the tail any more. */
    final RuntimeException poisoned(Throwable cause) {
        flusher.poison(cause);
        flusher.throwIfPoisoned();
        throw new IllegalStateException(cause);
    }

    /** Waits for the append that is under way and lets no other one begin. */
    public final void close() {
        lock.lock();
        try {
            if (!closed && pendingEnd != 0 && flusher.failure() == null) {
                settleAtLast();
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

    // The next open of a queue that is marked as closed takes the bytes behind the tail for zeros.
    private void settleAtLast() {
        try {
            settle();
        } catch (PoisonedException e) {
            // The queue is closed without the mark.
        }
    }
}
