package org.mmapqueue.consume;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.mmapqueue.Message;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.FoundRecord;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.lookup.RandomAccessReader;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.metrics.RecordCounter;
import org.mmapqueue.segment.Geometry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads records for a consumer: requeued records that are due, then new ones. Not thread-safe, except {@link
 * #readOffset}: the consumer's lock guards it.
 */
final class Fetcher {
    private static final Logger LOG = LoggerFactory.getLogger(Fetcher.class);
    /** The delay in ms before a record is offered to the dead-letter queue again. */
    private static final long RETRY_MILLIS = 1000;

    private final LogReader reader;
    /** Reads popped records again. It pins no segment between calls. */
    private final LogReader again;

    /** Finds records that only the archive has. */
    private final OlderCursor older;
    /** Whether the next record is in the archive alone: then the reader has no position. */
    private boolean isBehind;
    /** The position after which the first record begins that the ring has for this consumer, if it was ever behind. */
    private long ringPosition;

    private final ConsumerCursors cursors;
    private final InFlight inFlight;
    private final DamagePolicy damage;
    private final GuardedLog untold;
    private final AtomicLong readOffset = new AtomicLong();
    private final RecordCounter redelivered = new RecordCounter();

    /**
     * A fetcher without a position.
     *
     * @param reader for new records; nothing else uses it
     * @param again for records that were popped before; nothing else uses it
     * @param older for records that the ring has given up; nothing else uses it
     * @param untold gets what is to be logged
     */
    Fetcher(
            LogReader reader,
            LogReader again,
            OlderCursor older,
            ConsumerCursors cursors,
            InFlight inFlight,
            DamagePolicy damage,
            GuardedLog untold) {
        this.reader = reader;
        this.again = again;
        this.older = older;
        this.cursors = cursors;
        this.inFlight = inFlight;
        this.damage = damage;
        this.untold = untold;
    }

    Geometry geometry() {
        return reader.geometry();
    }

    /** Moves to the position after which a record begins. Nothing is in flight after the move. */
    void moveTo(long position, long offset) {
        older.reset();
        isBehind = false;
        ringPosition = 0;
        inFlight.reset(offset);
        reader.moveTo(position);
        reader.expect(offset);
        readOffset.set(offset);
        cursors.reading(position);
    }

    /** Moves to where the next record begins, behind a part of the log without records. What is in flight stays so. */
    void moveOver(long position) {
        reader.moveTo(position);
        reader.expect(inFlight.next());
        cursors.reading(position);
    }

    /**
     * Moves to a record that only the archive has. Nothing is in flight after the move.
     *
     * @param ring the first record that the ring has
     */
    void moveBehind(long offset, RandomAccessReader.OffsetPosition ring) {
        older.reset();
        inFlight.reset(offset);
        readOffset.set(offset);
        isBehind = true;
        ringBegins(ring);
        cursors.reading(ring.position());
    }

    /** Notes that the ring has given up all records before one; what is in flight stays so. */
    void ringBegins(RandomAccessReader.OffsetPosition first) {
        ringPosition = first.position();
        older.ringBegins(first.offset(), inFlight.next());
        if (older.has(inFlight.next())) {
            isBehind = true;
            reader.leave();
            again.leave();
        } else if (isBehind || inFlight.next() == first.offset() && reader.endBefore() < ringPosition) {
            enterRing();
        }
    }

    // Continues in the ring, at its first record.
    private void enterRing() {
        isBehind = false;
        reader.moveTo(ringPosition);
        reader.expect(inFlight.next());
        cursors.reading(ringPosition);
    }

    /** The position after which the first record begins that the ring has, if the consumer was ever behind; else 0. */
    long ringPosition() {
        return ringPosition;
    }

    /** Whether only the archive has a record. */
    boolean isOlder(long offset) {
        return older.has(offset);
    }

    /** Forgets what is loaded of the archive: every record before those of the ring is acked. */
    void leaveArchive() {
        older.leave();
    }

    /** The offset of the next record to deliver, if only the archive has it; -1 otherwise. */
    long nextOlder() {
        long offset = inFlight.due();
        if (offset < 0 && !inFlight.isFull()) {
            offset = inFlight.next();
        }
        return offset >= 0 && older.has(offset) ? offset : -1;
    }

    /** What loads records of the archive. */
    ReadAhead ahead() {
        return older.ahead(inFlight.next());
    }

    /** Passes the records before an offset, which the archive has deleted. */
    void passDeleted(long end) {
        passOlder(Math.min(end, older.ringFrom()));
    }

    /** The offset of the next record that is popped for the first time. Any thread. */
    long readOffset() {
        return readOffset.get();
    }

    /** The position after which that record begins. */
    long position() {
        return isBehind ? OlderPosition.before(inFlight.next()) : reader.endBefore();
    }

    /** The record that would be popped next; null if none is available. */
    Message peek() throws IOException {
        try {
            return peekLoaded();
        } catch (NotLoadedException e) {
            return null;
        }
    }

    private Message peekLoaded() throws IOException {
        inFlight.expire();
        for (long offset = inFlight.due(); offset >= 0; offset = inFlight.due()) {
            Message found = readAgain(offset);
            if (found != null) {
                return found;
            }
        }
        while (next()) {
            try {
                return message(source(), inFlight.next(), inFlight.nextAttempts());
            } catch (CorruptException e) {
                skip(e);
            } finally {
                reader.forgetEnd();
            }
        }
        return null;
    }

    /**
     * Copies the next records into a batch, and pops them. An error after the first record ends the batch, and is left
     * to the next call, which throws it.
     *
     * @param batch an empty batch
     * @param maxRecords the maximum number of records, at least 1
     * @param first whether the caller has no record yet: then an error is thrown
     * @return false if max_unacked allows no record, though one may be available
     */
    boolean fill(RecordBatch batch, int maxRecords, boolean first) throws IOException {
        try {
            inFlight.expire();
            int count = 0;
            while (count < maxRecords) {
                if (addPlain(batch, maxRecords - count)) {
                    count = batch.count();
                    continue;
                }
                long requeued = inFlight.due();
                if (requeued < 0) {
                    if (count > 0 && reader.hasCaughtUp() || !next()) {
                        return true;
                    }
                    if (inFlight.isFull()) {
                        return count > 0;
                    }
                }
                if (!add(batch, requeued)) {
                    return true;
                }
                count = batch.count();
            }
            return true;
        } catch (NotLoadedException e) {
            return true;
        } catch (IOException | RuntimeException | Error e) {
            if (first && batch.count() == 0) {
                throw e;
            }
            return true;
        } finally {
            storeReading();
        }
    }

    // Pops new records, as many as need no decision; returns whether there were any.
    private boolean addPlain(RecordBatch batch, int most) {
        int from = batch.count();
        int end = from + Math.min(most, inFlight.plainRoom());
        while (batch.count() < end && reader.nextPlain() && batch.takes(reader.length())) {
            int length = reader.length();
            long position = reader.endBefore();
            if (!reader.takePlain(batch.room(length), batch.start())) {
                break;
            }
            batch.add(inFlight.next(), reader.timestamp(), length, inFlight.popped(position));
        }
        return batch.count() > from;
    }

    // Pops a requeued record, or, if that is -1, the new record that the reader has found. A damaged record is passed.
    // Returns false if the batch has no room for the record.
    private boolean add(RecordBatch batch, long requeued) throws IOException {
        try {
            FoundRecord from = requeued < 0 ? source() : find(requeued);
            int length = from.length();
            if (!batch.takes(length)) {
                return false;
            }
            from.read(batch.room(length), batch.start());
            long offset = requeued < 0 ? inFlight.next() : requeued;
            batch.add(offset, from.timestamp(), length, popped(requeued, length));
        } catch (CorruptException e) {
            passDamaged(e, requeued);
        }
        return true;
    }

    /**
     * Pops the next record: as {@link #fill} for one, but without a batch, which costs more than the record.
     *
     * @param own whether the payload gets an array of its own
     * @return the array that has the payload, at its begin; null if there is no record, or {@link #isLimited}
     */
    byte[] pop(PoppedRecord record, boolean own) throws IOException {
        try {
            inFlight.expire();
            byte[] plain = popPlain(record, own);
            if (plain != null) {
                return plain;
            }
            while (true) {
                long requeued = inFlight.due();
                if (requeued < 0 && (inFlight.isFull() || !next())) {
                    return null;
                }
                try {
                    FoundRecord from = requeued < 0 ? source() : find(requeued);
                    int length = from.length();
                    byte[] data = own ? new byte[length] : record.room(length);
                    from.read(data, 0);
                    long offset = requeued < 0 ? inFlight.next() : requeued;
                    record.set(offset, from.timestamp(), length, popped(requeued, length));
                    return data;
                } catch (CorruptException e) {
                    passDamaged(e, requeued);
                }
            }
        } catch (NotLoadedException e) {
            return null;
        } finally {
            storeReading();
        }
    }

    // Where the record is that was found.
    private FoundRecord source() {
        return isBehind ? older : reader;
    }

    // As pop, for a new record about which nothing has to be decided; null for all else.
    private byte[] popPlain(PoppedRecord record, boolean own) {
        if (inFlight.plainRoom() == 0 || !reader.nextPlain()) {
            return null;
        }
        int length = reader.length();
        byte[] data = own ? new byte[length] : record.room(length);
        long position = reader.endBefore();
        if (!reader.takePlain(data, 0)) {
            return null;
        }
        record.set(inFlight.next(), reader.timestamp(), length, inFlight.popped(position));
        return data;
    }

    /** Whether max_unacked alone keeps the next record from being popped. */
    boolean isLimited() throws IOException {
        try {
            return inFlight.isFull() && inFlight.due() < 0 && next();
        } catch (NotLoadedException e) {
            return true; // the archive has it
        }
    }

    private void passDamaged(CorruptException e, long requeued) throws IOException {
        if (requeued < 0) {
            skip(e);
        } else {
            lose(e, requeued);
        }
    }

    // Notes that the record which was read is popped; returns its attempts.
    private int popped(long requeued, int length) {
        int attempts;
        if (requeued < 0) {
            attempts = inFlight.popped(position());
            advanceReader();
        } else {
            attempts = inFlight.redelivered(requeued);
        }
        if (attempts > 1) { // otherwise the record is new, or was released
            redelivered.add(1, length);
        }
        return attempts;
    }

    /** Counts deliveries after the first one of a record. Any thread. */
    RecordCounter redelivered() {
        return redelivered;
    }

    /** Whether a poll would find a record. */
    boolean hasNext() throws IOException {
        long offset = nextOlder();
        if (offset >= 0) {
            return older.isLoaded(offset, inFlight.next());
        }
        return inFlight.due() >= 0 || inFlight.hasExpired() || !inFlight.isFull() && next();
    }

    // Moves to the next record to pop. Passes damage, if it is skipped, and restored rows that are not to be delivered.
    private boolean next() throws IOException {
        while (true) {
            try {
                return nextWhole();
            } catch (CorruptException e) {
                skip(e);
            }
        }
    }

    private boolean nextWhole() throws IOException {
        while (found()) {
            int state = inFlight.nextState();
            if (state == InFlight.IN_FLIGHT) {
                return true;
            }
            pass(state);
        }
        return false;
    }

    // Finds the next record, and passes the gaps before it.
    private boolean found() throws IOException {
        while (isBehind) {
            long next = inFlight.next();
            long found = older.find(next, next);
            if (found == next) {
                return true;
            }
            passOlder(Math.min(found, older.ringFrom()));
        }
        boolean isThere = reader.next();
        passGap();
        return isThere;
    }

    // Passes the next records, which the archive does not have.
    private void passOlder(long end) {
        long first = inFlight.next();
        if (older.isIn(first)) {
            older.skipped(first, end, damage::lost);
        }
        inFlight.passLost(end, OlderPosition.before(first));
        untold.note(
                () -> LOG.warn("a consumer passes records {} to {}, which the archive does not have", first, end - 1));
        advanceReader();
        storeReading();
    }

    // Notes the records of a gap that the reader has passed.
    private void passGap() {
        long first = inFlight.next();
        long end = reader.nextOffset();
        if (end <= first) {
            return;
        }
        inFlight.passLost(end, position());
        storeReading();
        untold.note(
                () -> LOG.warn("a consumer passes records {} to {}, which were lost before a repair", first, end - 1));
    }

    private void pass(int state) throws IOException {
        if (!isBehind) {
            reader.skipChecked(0);
        }
        inFlight.passed(position(), state);
        advance();
    }

    private void advance() {
        advanceReader();
        storeReading();
    }

    private void advanceReader() {
        if (!isBehind) {
            reader.advance();
        } else if (!older.has(inFlight.next())) {
            enterRing();
        }
    }

    // Does nothing if no record was passed: a store would make the page dirty, also by polls of an empty queue.
    private void storeReading() {
        if (readOffset.getPlain() != inFlight.next()) {
            readOffset.lazySet(inFlight.next());
            if (!isBehind) {
                cursors.reading(reader.endBefore());
            }
        }
    }

    /** Passes the next records while a snapshot has them as acked; returns the offset of the first unacked record. */
    long passAcked() throws IOException {
        try {
            while (inFlight.nextState() == InFlight.ACKED && found()) {
                if (inFlight.nextState() != InFlight.ACKED) {
                    break; // the record after a gap
                }
                try {
                    pass(InFlight.ACKED);
                } catch (CorruptException e) {
                    skip(e);
                }
            }
        } catch (NotLoadedException e) {
            // the next pop passes them
        }
        return inFlight.advance(inFlight.first());
    }

    // Continues after damage at the next record with a known offset, or throws.
    private void skip(CorruptException e) throws IOException {
        reader.leave(); // the search pins segments itself
        passGap();
        long position = reader.position();
        DamageSkip.Found found = damage.after(e, position, inFlight.next());
        inFlight.passLost(found.offset(), position);
        reader.moveTo(found.position());
        reader.expect(found.offset());
        readOffset.lazySet(found.offset());
        cursors.reading(found.position());
    }

    // Moves the second reader to a popped record; returns the reader.
    private FoundRecord find(long offset) throws IOException {
        if (older.has(offset)) {
            if (older.find(offset, inFlight.next()) != offset) {
                throw older.missing(offset);
            }
            return older;
        }
        again.moveTo(inFlight.position(offset));
        again.expect(offset);
        if (!again.next()) {
            throw again.corrupt(again.segmentByte(), "record " + offset + ", which has been popped, is missing");
        }
        return again;
    }

    // Reads a popped record as its next delivery would; null if it is damaged.
    private Message readAgain(long offset) throws IOException {
        try {
            return message(find(offset), offset, inFlight.nextAttempts(offset));
        } catch (CorruptException e) {
            lose(e, offset);
            return null;
        } finally {
            again.leave();
        }
    }

    private static Message message(FoundRecord from, long offset, int attempts) throws IOException {
        byte[] data = new byte[from.length()];
        from.read(data, 0);
        return new Message(offset, from.timestamp(), data, attempts);
    }

    // A damaged record counts as acked, since no delivery can succeed, and no ack of it may come.
    private void lose(CorruptException failure, long offset) {
        again.leave();
        damage.lost(failure, offset);
        inFlight.ack(offset);
        inFlight.advance(inFlight.first());
    }

    /**
     * Returns the next record for the dead-letter queue; null for none.
     *
     * @throws CorruptException if it is damaged, unless damage is skipped; the record is requeued
     */
    Message nextDeadLetter() throws IOException {
        for (long offset = inFlight.takeDead(); offset >= 0; offset = inFlight.takeDead()) {
            boolean isRead = false;
            try {
                Message dead = readAgain(offset);
                isRead = dead != null;
                if (isRead) {
                    return dead;
                }
            } finally {
                if (!isRead) {
                    retryDeadLetter(offset);
                }
            }
        }
        return null;
    }

    /** Requeues a record that the dead-letter queue did not take; returns false if it was acked since. */
    boolean retryDeadLetter(long offset) {
        return inFlight.retryDead(offset, RETRY_MILLIS);
    }

    /** Unpins all segments except that of the reading position. */
    void rest() {
        reader.forgetEnd(); // it may be of a record that was read but not popped
        again.leave();
    }

    /** Unpins all segments, and leaves the archive. */
    void leave() {
        older.leave();
        reader.leave();
        again.leave();
    }
}
