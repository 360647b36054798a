package org.mmapqueue.consume;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.RandomAccessReader;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.registry.Registry;
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
    private final InFlight inFlight;
    private final Fetcher fetcher;
    private final DamagePolicy damage;
    private final Drops drops;
    private final QueueArchive archive;
    private final AtomicLong committedOffset = new AtomicLong();
    private long committed;
    /** Where the segment of the committed position ends: a position from there on releases it. */
    private long segmentEnd;
    /** Whether records were dropped before the consumer was opened, so that the committed offset is unknown. */
    private boolean committedIsUnknown;
    /** Whether the queue has an archive for what the ring gives up, as far as is known. */
    private boolean overflows;
    /** Incremented when the consumer moves: records popped before the move are no longer in flight. */
    private int placements;

    /** Starts at the position of the cursors; {@link #begin} then moves the reader there. */
    CommittedPosition(
            String name,
            ConsumerCursors cursors,
            Log log,
            InFlight inFlight,
            Fetcher fetcher,
            DamagePolicy damage,
            Drops drops,
            QueueArchive archive) {
        this.damage = damage;
        this.drops = drops;
        this.archive = archive;
        this.name = name;
        this.cursors = cursors;
        this.log = log;
        this.geometry = fetcher.geometry();
        this.inFlight = inFlight;
        this.fetcher = fetcher;
        committed = cursors.committed();
        committedIsUnknown = drops.areUnacked();
        overflows = archive.isThere();
    }

    /** The committed offset: that of the first record that is not acked. Any thread. */
    long offset() {
        return committedOffset.get();
    }

    /** The position after which that record begins. */
    long position() {
        return committed;
    }

    /** Number of times that the consumer has moved. */
    int placements() {
        return placements;
    }

    /** Moves to a record; returns false if the writer has reclaimed the record's segment. */
    boolean seek(RandomAccessReader.OffsetPosition target, Registry registry) throws IOException {
        if (!registry.move(cursors, target.position())) {
            return false;
        }
        // Nothing may fail from here on: the cursors are ahead of the state in memory.
        cursors.unackedOffset(target.offset());
        drops.know(0);
        committed = target.position();
        moveTo(committed, target.offset());
        return true;
    }

    /**
     * Moves to a record that only the archive has.
     *
     * @param ring the oldest record of the ring
     * @return false if the writer has reclaimed that one's segment
     */
    boolean seekBehind(long offset, RandomAccessReader.OffsetPosition ring, Registry registry) throws IOException {
        if (drops.areUnacked()) {
            cursors.unackedOffset(offset); // it is behind, and goes on elsewhere
        } else if (!registry.moveBehind(cursors, ring.position(), offset)) {
            return false;
        }
        committed = cursors.committed();
        overflows = true;
        moveBehind(offset, oldestNeeded());
        return true;
    }

    private void moveBehind(long offset, RandomAccessReader.OffsetPosition ring) {
        drops.know(ring.position());
        placements++;
        segmentEnd = endOfSegment(ring.position());
        fetcher.moveBehind(offset, ring);
        committedOffset.set(offset);
    }

    /** Commits every record before an offset, popped or not. Records after it stay in flight. */
    void passTo(RandomAccessReader.OffsetPosition target, Registry registry) throws IOException {
        if (isDropped() && !overtaken()) {
            if (target.offset() < oldestNeeded().offset()) {
                return; // committed with the last dropped record: until then the cursors tell which were not passed
            }
            dropped(); // ignores the exception: the caller wants these records gone
        }
        if (target.offset() <= offset()) {
            return;
        }
        if (target.offset() < inFlight.next()) {
            ackUpTo(target.offset() - 1);
        } else {
            seek(target, registry);
        }
    }

    /**
     * Moves to the first record when the consumer is opened: the oldest one that it needs, or, if damage hides the
     * offset of that one, the first later one with a known offset. Returns the record's position.
     */
    long begin() throws IOException {
        try {
            if (overflows) {
                return drops.areUnacked() ? beginBehind() : beginInRing();
            }
            RandomAccessReader.OffsetPosition oldest = oldestNeeded();
            moveTo(oldest.position(), oldest.offset());
            return oldest.position();
        } catch (CorruptException e) {
            DamageSkip.Found found = damage.begin(e, cursors.needed());
            // Stored by the next ack: until then a repair gives the consumer the records before.
            committed = found.position();
            moveTo(committed, found.offset());
            return committed;
        }
    }

    // The ring may give up the committed position at any moment, and is then not asked for the offset.
    private long beginInRing() throws IOException {
        long position = cursors.committed();
        long offset;
        try {
            offset = log.offsetAt(position);
        } catch (MmapQueueException e) {
            if (drops.areUnacked()) {
                return beginBehind();
            }
            throw e;
        }
        moveTo(position, offset);
        return position;
    }

    // The page has the offset of the first record that is not acked. That record is in the ring if the process ended
    // just when it had acked all before it.
    private long beginBehind() throws IOException {
        long first = cursors.unackedOffset();
        RandomAccessReader.OffsetPosition oldest = oldestNeeded();
        committedIsUnknown = false;
        if (first < oldest.offset()) {
            moveBehind(first, oldest);
            return oldest.position();
        }
        drops.know(oldest.position());
        RandomAccessReader.OffsetPosition begin = first == oldest.offset() ? oldest : log.locate(StartAt.offset(first));
        moveTo(begin.position(), begin.offset());
        store(begin.position(), begin.offset());
        return begin.position();
    }

    /** The oldest record that the consumer needs, while the writer may drop records. */
    RandomAccessReader.OffsetPosition oldestNeeded() {
        while (true) {
            long position = cursors.needed();
            try {
                return new RandomAccessReader.OffsetPosition(log.offsetAt(position), position);
            } catch (MmapQueueException e) {
                if (cursors.needed() == position) {
                    throw e;
                }
            }
        }
    }

    private void moveTo(long position, long offset) {
        cursors.unackedOffset(offset);
        placements++;
        segmentEnd = endOfSegment(position);
        fetcher.moveTo(position, offset);
        committedOffset.set(offset);
    }

    /**
     * Acks every record up to and including one.
     *
     * @return whether a segment was released, or room in the table
     */
    boolean ackUpTo(long offset) throws IOException {
        checkPopped(offset, "ack");
        return commitIfBehind(offset >= inFlight.first() ? inFlight.advance(offset + 1) : inFlight.first());
    }

    /**
     * Acks one record.
     *
     * @return as {@link #ackUpTo}
     */
    boolean ack(long offset) throws IOException {
        checkPopped(offset, "ack");
        ackAlone(offset);
        return commitIfBehind(inFlight.first());
    }

    /**
     * Acks each of these records; acks none if one of them was not popped.
     *
     * @return as {@link #ackUpTo}
     */
    boolean ack(long[] offsets) throws IOException {
        for (long offset : offsets) {
            checkPopped(offset, "ack");
        }
        for (long offset : offsets) {
            ackAlone(offset);
        }
        return commitIfBehind(inFlight.first());
    }

    private void ackAlone(long offset) {
        if (offset == inFlight.first()) {
            inFlight.advance(offset + 1);
        } else {
            inFlight.ack(offset);
        }
    }

    // Stores the committed position; also for an earlier ack that failed before storing it.
    private boolean commitIfBehind(long acked) throws IOException {
        return acked > committedOffset.getPlain() && commit(acked);
    }

    private boolean commit(long acked) throws IOException {
        boolean wasFull = inFlight.next() - committedOffset.getPlain() >= inFlight.most();
        long first = acked == inFlight.next() ? fetcher.passAcked() : acked;
        if (fetcher.isOlder(first)) {
            cursors.unackedOffset(first);
            committedOffset.lazySet(first);
            return wasFull;
        }
        // The unused end of a segment that the ring has given up may be between the two.
        long position = Math.max(
                fetcher.ringPosition(), first == inFlight.next() ? fetcher.position() : inFlight.position(first));
        boolean frees = position >= segmentEnd;
        store(position, first);
        if (frees) {
            segmentEnd = endOfSegment(position);
        }
        committedOffset.lazySet(first);
        return frees || wasFull;
    }

    // Stores a position in the ring, before which every record is acked.
    private void store(long position, long offset) {
        if (position > cursors.reading()) {
            cursors.reading(position); // the reader may have passed a pad after the last record
        }
        cursors.unackedOffset(offset); // first: the ring may give up the record at this moment
        if (!drops.areKnown()) {
            cursors.committed(position);
            committed = position;
            return;
        }
        long left = cursors.dropped();
        cursors.committed(position);
        committed = position;
        if (left <= position && cursors.noteDrop(left)) { // else the writer has dropped more, of which nothing is known
            drops.know(0);
            fetcher.leaveArchive();
        }
    }

    private long endOfSegment(long position) {
        return geometry.position(geometry.segmentOf(position) + 1, 0);
    }

    /** Whether the writer has dropped records since the last call of {@link #dropped} or {@link #overtaken}. */
    boolean isDropped() {
        return drops.arePending();
    }

    /**
     * Continues in the archive, if the queue has one, after the ring has given up records that the consumer needs. All
     * that is in flight stays so.
     *
     * @return false if the records are dropped for good
     */
    boolean overtaken() throws IOException {
        if (!overflows && !archive.isThere()) {
            return false;
        }
        overflows = true;
        RandomAccessReader.OffsetPosition oldest = oldestNeeded();
        drops.know(oldest.position());
        fetcher.ringBegins(oldest);
        commit(inFlight.first());
        return true;
    }

    /**
     * Passes records that the archive has deleted; returns the exception to throw.
     *
     * @param offset the record that was to be delivered
     * @param end the offset of the first record that the archive has
     */
    DroppedException deleted(long offset, long end) throws IOException {
        long last = offset;
        if (offset < inFlight.next()) {
            ackAlone(offset);
        } else {
            fetcher.passDeleted(end);
            last = inFlight.next() - 1;
        }
        commitIfBehind(inFlight.first());
        return new DroppedException(name, offset, last);
    }

    /**
     * The exception to throw for damage: segments of dropped records may hold later records already, which is no
     * damage.
     */
    MmapQueueException orDropped(CorruptException e, boolean closed) {
        return !closed && isDropped() ? dropped() : e;
    }

    /**
     * Moves to the oldest record that is retained, and commits that position; returns the exception to throw. Its range is
     * empty if no record was dropped, but the unused end of a segment: then all that is in flight stays so.
     */
    DroppedException dropped() {
        // Loaded before committed is stored: from then on the writer counts a drop as a new one.
        long first = committedIsUnknown ? cursors.droppedFirst() : inFlight.first();
        do {
            RandomAccessReader.OffsetPosition oldest = oldestNeeded();
            boolean isEmpty = first >= oldest.offset() && oldest.offset() == inFlight.first();
            committed = oldest.position();
            // In flight are also records of a snapshot that are not popped again yet.
            if (!isEmpty || inFlight.end() == inFlight.first()) {
                moveTo(committed, oldest.offset());
            } else if (inFlight.next() == inFlight.first()) {
                fetcher.moveOver(committed);
            }
            cursors.committed(committed);
        } while (!cursors.noteDrop(committed));
        committedIsUnknown = false;
        return new DroppedException(name, first, inFlight.first() - 1);
    }

    /** Throws OutOfRangeException when a record was not popped. */
    void checkPopped(long offset, String what) {
        if (offset < 0 || offset >= inFlight.next()) {
            throw outOfRange(what + " by consumer " + name + " of a record that it has not popped", offset);
        }
    }

    /** The exception for a record that is not in flight. */
    OutOfRangeException outOfRange(String what, long offset) {
        return new OutOfRangeException(what, offset, inFlight.first(), inFlight.next() - 1);
    }

    /** The exception for a pop beyond max_unacked. */
    UnackedLimitException limit() {
        return new UnackedLimitException("consumer " + name + " has popped " + inFlight.span()
                + " records beyond the first one that it has not acked, offset " + offset()
                + "; max_unacked allows no more");
    }
}
