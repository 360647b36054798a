package org.mmapqueue.consume;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.concurrent.SpinLock;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.log.BatchSource;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.RandomAccessReader;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.registry.Registry;

/**
 * One consumer in the process that owns it. Any number of threads; the claim lets one at a time move the reading
 * position, and each record goes to one of them. Records that were given back come before new ones.
 */
public final class ConsumerCore extends BatchSource implements Closeable {
    private static final long NEVER = Long.MAX_VALUE;

    private final String name;
    private final ConsumerCursors cursors;
    private final Fetcher fetcher;
    private final Redelivery redelivery;
    private final Log log;
    private final InFlightFile inFlightFile;
    private final Closeable ownership;
    private final SpinLock lock = new SpinLock();
    private final Window window;
    private final SavedInFlight saved = new SavedInFlight();
    private final CommittedPosition committed;
    private volatile boolean closed;

    /**
     * A consumer that stands at its committed position, with what a clean close has left of its records in flight.
     *
     * @param log where it reads
     * @param delivery what it does with records that are not acked
     * @param inFlightFile where a clean close writes that down, or null
     * @param ownership closed with the consumer
     */
    public ConsumerCore(
            String name,
            ConsumerCursors cursors,
            Log log,
            Settings.Delivery delivery,
            InFlightFile inFlightFile,
            Closeable ownership)
            throws IOException {
        this.name = name;
        this.cursors = cursors;
        this.log = log;
        this.inFlightFile = inFlightFile;
        this.ownership = ownership;
        this.window = new Window(delivery.maxUnacked());
        SparseIndex sparseIndex = new SparseIndex();
        this.redelivery = new Redelivery(window, sparseIndex, log.reader(), delivery, Redelivery.clock());
        LogReader reader = log.reader();
        this.fetcher = new Fetcher(reader, cursors, window, sparseIndex, saved, redelivery);
        this.committed =
                new CommittedPosition(name, cursors, log, reader.geometry(), window, sparseIndex, fetcher, redelivery);
        long stands = committed.standWhereNeeded();
        if (inFlightFile != null) {
            inFlightFile.take(stands, window.first(), saved);
        }
    }

    public String name() {
        return name;
    }

    /** What it is for. */
    public String label() {
        return cursors.label();
    }

    /** Says what it is for, durably. */
    public void label(String text) throws IOException {
        if (!text.equals(cursors.label())) {
            cursors.label(text);
            cursors.force();
        }
    }

    public boolean isClosed() {
        return closed;
    }

    public long readOffset() {
        return fetcher.readOffset();
    }

    public long committedOffset() {
        return committed.offset();
    }

    public long unacked() {
        return claimed(window::unacked);
    }

    /** Records that are not popped, or given back, in a queue that ends with record {@code end} - 1. */
    public long size(long end) {
        return claimed(() -> Math.max(0, end - window.next() - saved.acked(window.next())) + window.returned());
    }

    private <T> T claimed(Callable<T> work) {
        lock.lock();
        try {
            return work.call();
        } catch (CorruptException e) {
            throw explained(e);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception | InternalError e) {
            throw explained(e);
        } finally {
            lock.unlock();
        }
    }

    /** Pops one record; null when there is none. */
    public Message poll() {
        Message[] one = {null};
        int count = poll(
                1,
                Long.MAX_VALUE,
                true,
                (offset, timestamp, data, start, length, attempts) ->
                        one[0] = new Message(offset, timestamp, data, attempts));
        if (count == Fetcher.LIMIT) {
            throw limit();
        }
        return one[0];
    }

    public Message peek() {
        return claimed(() -> {
            checkUsable();
            return fetcher.peek();
        });
    }

    /**
     * Pops what there is, at most {@code maxRecords} and {@code maxBytes}, at least one record when there is one. The
     * handler is called without the lock; records that it does not get, because it throws, are released.
     *
     * @param own whether the handler may keep the arrays that it gets, each of them the record and nothing else
     * @return how many, or {@link Fetcher#LIMIT}
     */
    public int poll(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        return deliver(0, maxRecords, maxBytes, own, handler);
    }

    // Null where max_unacked allows no more. Once the caller has records, nothing is raised: the next call meets it.
    @Override
    protected RecordBatch fetch(long offset, int maxRecords, long maxBytes, boolean own, boolean first) {
        lock.lock();
        try {
            if (first) {
                checkUsable();
            }
            RecordBatch batch = spare.take();
            batch.begin(own, committed.placements());
            boolean allowed = false;
            try {
                allowed = !isUsable() || fetcher.fill(batch, maxRecords, maxBytes, first);
                return allowed ? batch : null;
            } finally {
                if (!allowed) {
                    spare.giveBack(batch);
                }
            }
        } catch (CorruptException | IOException | InternalError e) {
            throw explained(e);
        } finally {
            try {
                fetcher.rest();
            } finally {
                lock.unlock();
            }
        }
    }

    // Such records have not been popped, unless the consumer was moved or closed since.
    @Override
    protected void undelivered(RecordBatch batch) {
        claimed(() -> {
            if (isUsable() && batch.placement() == committed.placements()) {
                for (int i = batch.delivered(); i < batch.count(); i++) {
                    redelivery.release(batch.offset(i), batch.attempts(i));
                }
            }
            return null;
        });
    }

    /** Whether a pop would find something; any thread, no effect. */
    public boolean hasNext() {
        lock.lock();
        try {
            return !isUsable() || fetcher.hasNext();
        } catch (IOException | RuntimeException | InternalError e) {
            return true; // the pop that follows raises it
        } finally {
            lock.unlock();
        }
    }

    /** Until when nothing that was popped comes back, by System.nanoTime. */
    public long quietUntil() {
        long millis = claimed(redelivery::quietMillis);
        return System.nanoTime() + (millis == NEVER ? NEVER / 2 : TimeUnit.MILLISECONDS.toNanos(millis));
    }

    public UnackedLimitException limit() {
        return committed.limit();
    }

    /** Everything up to {@code offset} has been dealt with. True when somebody may wait for that. */
    public boolean ack(long offset) {
        return ack(offset, null);
    }

    /** These have been dealt with, whatever becomes of the others. True when somebody may wait for that. */
    public boolean ackSingle(long... offsets) {
        return ack(-1, offsets);
    }

    private boolean ack(long upTo, long[] single) {
        lock.lock();
        try {
            checkUsable();
            return committed.commitIfBehind(single == null ? passed(upTo) : marked(single));
        } catch (CorruptException | IOException | InternalError e) {
            throw explained(e);
        } finally {
            lock.unlock();
        }
    }

    private long passed(long offset) {
        committed.checkPopped(offset, "ack");
        return offset >= window.first() ? window.advance(offset + 1) : window.first();
    }

    private long marked(long[] offsets) {
        for (long offset : offsets) {
            committed.checkPopped(offset, "ack");
        }
        for (long offset : offsets) {
            if (offset == window.first()) {
                window.advance(offset + 1);
            } else if (window.contains(offset)) {
                window.mark(offset, Window.ACKED);
            }
        }
        return window.first();
    }

    /** Gives a record back; true when it goes to the dead-letter queue, which is the caller's to do. */
    public boolean nack(long offset, long delayNanos) {
        return claimed(() -> {
            checkUsable();
            committed.checkPopped(offset, "nack");
            if (window.state(offset) == Window.ACKED) {
                throw committed.outOfRange("nack by consumer " + name + " of a record that it has acked", offset);
            }
            return redelivery.giveBack(offset, -Math.floorDiv(-delayNanos, TimeUnit.MILLISECONDS.toNanos(1)));
        });
    }

    /** Takes records back as if they had not been popped; those that are not out any more are left as they are. */
    public void unpop(long[] offsets) {
        claimed(() -> {
            checkUsable();
            for (long offset : offsets) {
                committed.checkPopped(offset, "unpop");
            }
            for (long offset : offsets) {
                redelivery.unpop(offset);
            }
            return offsets.length;
        });
    }

    /** Whether a record has to go to the dead-letter queue; any thread. */
    public boolean anyDying() {
        return redelivery.anyDying();
    }

    /** The next record that has to, or null. */
    Message nextDying() {
        return claimed(() -> closed ? null : redelivery.nextDying());
    }

    /** A record could not be taken by the dead-letter queue: it is popped again after a while. */
    void survives(long offset) {
        claimed(() -> redelivery.survives(offset));
    }

    /** Gives back all that is under way. */
    void seekCommitted() {
        claimed(() -> {
            checkUsable();
            return redelivery.giveBackAll();
        });
    }

    /** Goes to a place; false when it has been reclaimed meanwhile. */
    boolean seek(RandomAccessReader.Place place, Registry registry) {
        return claimed(() -> {
            checkUsable();
            if (!registry.move(cursors, place.position())) {
                return false;
            }
            // Nothing is looked up from here on: what failed now would leave the cursors ahead of what is in memory.
            committed.movedTo(place.position(), place.offset());
            return true;
        });
    }

    private void checkUsable() {
        if (closed) {
            throw new ClosedException("the queue, or its consumer " + name + ", is closed");
        }
        if (committed.isDropped()) {
            throw committed.dropped();
        }
    }

    private boolean isUsable() {
        return !closed && !committed.isDropped();
    }

    // What a failed read means to the caller; a fault in a mapping that nothing explains is thrown as it is.
    private MmapQueueException explained(Throwable e) {
        if (e instanceof CorruptException damage) {
            return committed.orDropped(damage, closed);
        }
        if (e instanceof InternalError fault) {
            return log.explain(fault);
        }
        return new MmapQueueException("consumer " + name + " could not read on: " + e, e);
    }

    /** Waits for the call that is under way and lets no other one begin. */
    @Override
    public void close() throws IOException {
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                log.leftAt(committed.offset());
                Closing.all(this::writeInFlight, fetcher::leave, redelivery::leave);
            }
        } finally {
            lock.unlock();
            if (closed) {
                ownership.close(); // again, when an error has cut off the first close
            }
        }
    }

    private void writeInFlight() throws IOException {
        if (inFlightFile != null && !committed.isDropped()) {
            inFlightFile.write(window, saved, committed.position(), fetcher.position());
        }
    }
}
