package org.mmapqueue.consume;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.segment.Geometry;

/**
 * The committed position of a consumer, and whether the writer has dropped records that it had not acked. The
 * consumer's lock guards it, except {@link #offset}.
 */
final class CommittedPosition {
    private final String name;
    private final ConsumerCursors cursors;
    private final Log log;
    private final Geometry geometry;
    private final Window window;
    private final SparseIndex sparseIndex;
    private final Fetcher fetcher;
    private final Redelivery redelivery;
    private final AtomicLong committedOffset = new AtomicLong();
    private long committed;
    /** Records were dropped before the consumer was opened: the offset of what it had committed is not known. */
    private boolean placeIsLost;
    /** How often the consumer was placed: records popped before the last placement are not in flight any more. */
    private int placements;

    /** The position that the cursors have; {@link #standWhereNeeded} goes there. */
    CommittedPosition(
            String name,
            ConsumerCursors cursors,
            Log log,
            Geometry geometry,
            Window window,
            SparseIndex sparseIndex,
            Fetcher fetcher,
            Redelivery redelivery) {
        this.name = name;
        this.cursors = cursors;
        this.log = log;
        this.geometry = geometry;
        this.window = window;
        this.sparseIndex = sparseIndex;
        this.fetcher = fetcher;
        this.redelivery = redelivery;
        committed = cursors.committed();
        placeIsLost = cursors.dropped() > committed;
    }

    /** The offset of the first record that is not acked. Any thread. */
    long offset() {
        return committedOffset.get();
    }

    /** The position past which that record begins. */
    long position() {
        return committed;
    }

    /** How often the consumer was placed. */
    int placements() {
        return placements;
    }

    /** The cursors were moved to a record: reading begins there. Looks nothing up, so that it cannot fail. */
    void movedTo(long position, long offset) {
        committed = position;
        standAt(position, offset);
    }

    /** Reads on from the oldest record that the consumer needs; its position. The writer may drop it meanwhile. */
    long standWhereNeeded() {
        while (true) {
            long position = cursors.needed();
            try {
                standAt(position, log.offsetAt(position));
                return position;
            } catch (MmapQueueException e) {
                if (cursors.needed() == position) {
                    throw e;
                }
            }
        }
    }

    private void standAt(long position, long offset) {
        placements++;
        fetcher.standAt(position, offset);
        committedOffset.set(offset);
    }

    /**
     * Commits everything before an offset. The last ack may have failed after the window's step: this one stores it then.
     *
     * @return whether a segment has become free, or room in the window
     */
    boolean commitIfBehind(long acked) throws IOException {
        return acked > committedOffset.getPlain() && commit(acked);
    }

    private boolean commit(long acked) throws IOException {
        boolean wasFull = window.next() - committedOffset.getPlain() >= window.most();
        long first = acked == window.next() ? fetcher.passAcked() : acked;
        long position = first == window.next() ? fetcher.position() : redelivery.positionOf(first);
        boolean frees = geometry.segmentOf(position) != geometry.segmentOf(committed);
        if (position > cursors.reading()) {
            cursors.reading(position); // the reader has passed a pad since the last record
        }
        cursors.committed(position);
        committed = position;
        committedOffset.lazySet(first);
        sparseIndex.acked(first, position);
        return frees || wasFull;
    }

    /** Whether the writer has dropped records since the last {@link #dropped}. */
    boolean isDropped() {
        return cursors.dropped() > committed;
    }

    /** The error to throw for damage: segments of dropped records may hold later records by now. */
    MmapQueueException orDropped(CorruptException e, boolean closed) {
        return !closed && isDropped() ? dropped() : e;
    }

    /** Goes to the oldest record that is left, and commits that; the error that tells the caller. */
    DroppedException dropped() {
        // Before committed is stored: after that the writer takes the next drop for a new one.
        long first = placeIsLost ? cursors.droppedFirst() : window.first();
        do {
            committed = standWhereNeeded();
            cursors.committed(committed);
        } while (!cursors.noteDrop(committed));
        placeIsLost = false;
        return new DroppedException(name, first, window.first() - 1);
    }

    /** Throws when a record was not popped. */
    void checkPopped(long offset, String what) {
        if (offset < 0 || offset >= window.next()) {
            throw outOfRange(what + " by consumer " + name + " of a record that it has not popped", offset);
        }
    }

    /** The error for a record that is not in flight. */
    OutOfRangeException outOfRange(String what, long offset) {
        return new OutOfRangeException(what, offset, window.first(), window.next() - 1);
    }

    /** The error for a pop beyond max_unacked. Any thread. */
    UnackedLimitException limit() {
        return new UnackedLimitException("consumer " + name + " has popped " + (fetcher.readOffset() - offset())
                + " records beyond the first one that it has not acked, offset " + offset()
                + "; max_unacked allows no more");
    }
}
