package org.mmapqueue.consume;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.mmapqueue.Message;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.metrics.RecordCounter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches records for a consumer: requeued records that are due, then new ones. Not thread-safe, except {@link
 * #readOffset}: the consumer's lock guards it.
 */
final class Fetcher {
    private static final Logger LOG = LoggerFactory.getLogger(Fetcher.class);

    private final LogReader reader;
    private final ConsumerCursors cursors;
    private final Window window;
    private final SparseIndex sparseIndex;
    private final SavedInFlight saved;
    private final Redelivery redelivery;
    private final DamagePolicy damage;
    private final AtomicLong readOffset = new AtomicLong();
    private final RecordCounter redelivered = new RecordCounter();
    /** The attempts, from before the queue was closed, of the record that {@link #next} has found. */
    private int timesBefore;

    /**
     * A fetcher without a position.
     *
     * @param reader for new records; nothing else uses it
     */
    Fetcher(
            LogReader reader,
            ConsumerCursors cursors,
            Window window,
            SparseIndex sparseIndex,
            SavedInFlight saved,
            Redelivery redelivery,
            DamagePolicy damage) {
        this.reader = reader;
        this.cursors = cursors;
        this.window = window;
        this.sparseIndex = sparseIndex;
        this.saved = saved;
        this.redelivery = redelivery;
        this.damage = damage;
    }

    /** Moves to the position after which a record begins. Nothing is in flight after the move. */
    void moveTo(long position, long offset) {
        redelivery.reset();
        damage.reset();
        saved.clear();
        window.reset(offset);
        sparseIndex.reset(offset, position);
        reader.moveTo(position);
        readOffset.set(window.next());
        cursors.reading(position);
    }

    /** The offset of the next record that is popped for the first time. Any thread. */
    long readOffset() {
        return readOffset.get();
    }

    /** The position after which that record begins. */
    long position() {
        return reader.position();
    }

    /** The record that would be popped next; null if none is available. */
    Message peek() throws IOException {
        redelivery.expire();
        for (long again = redelivery.due(); again >= 0; again = redelivery.due()) {
            try {
                return redelivery.read(again);
            } catch (CorruptException e) {
                redelivery.passDamage(e, again);
            }
        }
        while (next()) {
            try {
                byte[] data = new byte[reader.length()];
                reader.read(data, 0);
                reader.forgetEnd();
                return new Message(window.next(), reader.timestamp(), data, 1 + timesBefore);
            } catch (CorruptException e) {
                skip(e);
            }
        }
        return null;
    }

    /**
     * Copies the next records into a batch, and pops them. An error after the first record ends the batch, and is left
     * to the next call, which throws it.
     *
     * @param batch an empty batch
     * @param maxRecords the most records, at least 1
     * @param maxBytes the most payload bytes
     * @param first whether the caller has no record yet: then a record larger than {@code maxBytes} is popped, and an
     *     error is thrown
     * @return false if max_unacked allows no record, though one may be available
     */
    boolean fill(RecordBatch batch, int maxRecords, long maxBytes, boolean first) throws IOException {
        try {
            redelivery.expire();
            return redelivery.hasRequeued() && !fillRequeued(batch, maxRecords, maxBytes, first)
                    || fillNew(batch, maxRecords, maxBytes, first);
        } catch (IOException | RuntimeException | Error e) {
            if (first && batch.count() == 0) {
                throw e;
            }
            return true;
        }
    }

    // Adds requeued records that are due; false if the batch has no room for one of them.
    private boolean fillRequeued(RecordBatch batch, int maxRecords, long maxBytes, boolean first) throws IOException {
        while (batch.count() < maxRecords) {
            long again = redelivery.due();
            if (again < 0) {
                return true;
            }
            LogReader from;
            int length;
            try {
                from = redelivery.find(again);
                length = from.length();
                if (!batch.takes(length, maxBytes, first)) {
                    return false;
                }
                from.read(batch.room(length), batch.start());
            } catch (CorruptException e) {
                redelivery.passDamage(e, again);
                continue;
            }
            redelivery.popped(again);
            int attempts = window.attempts(again);
            batch.add(again, from.timestamp(), length, attempts);
            if (attempts > 1) { // otherwise the record was released
                redelivered.add(1, length);
            }
        }
        return true;
    }

    private boolean fillNew(RecordBatch batch, int maxRecords, long maxBytes, boolean first) throws IOException {
        while (batch.count() < maxRecords && (batch.count() == 0 || !reader.hasCaughtUp()) && next()) {
            if (window.isFull()) {
                return batch.count() > 0;
            }
            int length = reader.length();
            if (!batch.takes(length, maxBytes, first)) {
                break;
            }
            try {
                reader.read(batch.room(length), batch.start());
            } catch (CorruptException e) {
                skip(e);
                continue;
            }
            long offset = window.next();
            int attempts = 1 + timesBefore;
            step(Window.IN_FLIGHT, attempts);
            batch.add(offset, reader.timestamp(), length, attempts);
            redelivery.lease(offset);
            if (attempts > 1) { // it was in flight when the queue was closed
                redelivered.add(1, length);
            }
        }
        return true;
    }

    /** Counts deliveries after the first one of a record. Any thread. */
    RecordCounter redelivered() {
        return redelivered;
    }

    /** Whether a poll would find a record. */
    boolean hasNext() throws IOException {
        return redelivery.due() >= 0 || redelivery.hasExpired() || !window.isFull() && next();
    }

    // Moves to the next record to pop, past records that were acked or had no attempts left before the queue was
    // closed.
    private boolean next() throws IOException {
        while (true) {
            try {
                return nextWhole();
            } catch (CorruptException e) {
                skip(e);
            }
        }
    }

    // Continues after damage at the next record with a known offset, or throws.
    private void skip(CorruptException e) throws IOException {
        reader.leave(); // the search pins segments itself
        DamageSkip.Found found = damage.after(e, reader.position(), window.next());
        for (long offset = window.next(); offset < found.offset(); offset++) {
            window.add(Window.ACKED, 0);
        }
        window.advance(window.first());
        reader.moveTo(found.position());
        readOffset.lazySet(found.offset());
        cursors.reading(found.position());
    }

    private boolean nextWhole() throws IOException {
        while (reader.next()) {
            if (reader.isLost()) {
                passLost();
                continue;
            }
            timesBefore = saved.isOver() ? 0 : saved.times(window.next());
            if (timesBefore == 0 || timesBefore > 0 && !redelivery.isSpent(timesBefore)) {
                return true;
            }
            reader.skipChecked(0);
            if (timesBefore == SavedInFlight.ACKED) {
                step(Window.ACKED, 0);
            } else {
                step(Window.DEAD, timesBefore);
                redelivery.deadLetter(window.next() - 1);
            }
        }
        return false;
    }

    private void passLost() throws IOException {
        long first = window.next();
        do {
            reader.skip();
            step(Window.ACKED, 0);
            window.advance(window.first());
        } while (reader.next() && reader.isLost());
        LOG.warn("a consumer passes records {} to {}, which were lost before a repair", first, window.next() - 1);
    }

    private void step(int state, int attempts) {
        window.add(state, attempts); // first: if this runs out of memory, nothing has moved
        reader.advance();
        long position = reader.position();
        readOffset.lazySet(window.next());
        cursors.reading(position);
        sparseIndex.popped(window.next(), position);
    }

    /**
     * Passes the next records that were acked before the queue was closed; returns the offset of the first unacked
     * record.
     */
    long passAcked() throws IOException {
        while (saved.times(window.next()) == SavedInFlight.ACKED && reader.next()) {
            try {
                reader.skipChecked(0);
            } catch (CorruptException e) {
                skip(e);
                continue;
            }
            step(Window.ACKED, 0);
        }
        return window.advance(window.first());
    }

    /** Unpins all segments except that of the reading position. */
    void rest() {
        reader.forgetEnd(); // it may be of a record that was read but not popped
        redelivery.leave();
    }

    /** Unpins all segments. */
    void leave() {
        reader.leave();
    }
}
