package org.mmapqueue.consume;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.concurrent.SpinLock;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.log.SpareBatch;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.RandomAccessReader;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;

/**
 * One consumer in the process that owns it. Any number of threads; the claim lets one at a time move the reading
 * position, and each record goes to one of them. Records that were given back come before new ones.
 */
public final class ConsumerCore implements Closeable {
    private static final long NEVER = Long.MAX_VALUE;

    private final String name;
    private final ConsumerCursors cursors;
    private final Fetcher fetcher;
    private final Redelivery redelivery;
    private final Log log;
    private final InFlightFile inFlightFile;
    private final Closeable ownership;
    private final Geometry geometry;
    private final SpinLock lock = new SpinLock();
    private final SparseIndex sparseIndex = new SparseIndex();
    private final Window window;
    private final SavedInFlight saved = new SavedInFlight();
    private final AtomicLong committedOffset = new AtomicLong();
    private long committed;
    /** Dropped before it was opened: the number of what it had committed is not known. */
    private boolean placeIsLost;
    /** How often the consumer was placed somewhere: what was popped before the last time is nobody's. */
    private int placements;
    private final SpareBatch spare = new SpareBatch();
    private volatile boolean closed;

    /**
     * A consumer that stands at its committed position, with what a clean close has left of its records in flight.
     *
     * @param log where it reads
     * @param delivery what it does with records that are not acked
     * @param inFlightFile where a clean close writes that down, or null
     * @param ownership closed with the consumer
     */
    public ConsumerCore(String name, ConsumerCursors cursors, Log log, Settings.Delivery delivery,
            InFlightFile inFlightFile, Closeable ownership) throws IOException {
        this.name = name;
        this.cursors = cursors;
        this.log = log;
        this.inFlightFile = inFlightFile;
        this.ownership = ownership;
        this.window = new Window(delivery.maxUnacked());
        this.redelivery = new Redelivery(window, sparseIndex, log.reader(), delivery, Redelivery.clock());
        LogReader reader = log.reader();
        this.geometry = reader.geometry;
        this.fetcher = new Fetcher(reader, cursors, window, sparseIndex, saved, redelivery);
        committed = cursors.committed();
        placeIsLost = cursors.dropped() > committed;
        long stands = standWhereNeeded();
        if (inFlightFile != null) {
            inFlightFile.take(stands, window.first(), saved);
        }
    }

    // While it looks for the number of the place, the writer may drop the place, too.
    private long standWhereNeeded() {
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
        redelivery.reset();
        saved.clear();
        window.reset(offset);
        sparseIndex.reset(offset, position);
        fetcher.standAt(position);
        committedOffset.set(offset);
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
        return committedOffset.get();
    }

    public long unacked() {
        return claimed(window::unacked);
    }

    /** Records that are not popped, or given back, in a queue that ends with record {@code end} - 1. */
    public long size(long end) {
        return claimed(() -> Math.max(0, end - window.next() - saved.acked(window.next())) + window.returned());
    }

    private <T> T claimed(Callable<T> work) {
        Thread self = lock.acquire();
        try {
            return work.call();
        } catch (CorruptException e) {
            throw orDropped(e);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw failed(e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            if (lock.owner == self) {
                lock.owner = null;
            }
        }
    }

    /** Pops one record; null when there is none. */
    public Message poll() {
        Message[] one = {null};
        int count = poll(1, Long.MAX_VALUE, true, (offset, timestamp, data, start, length, attempts) ->
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
        int count = 0;
        long bytesLeft = maxBytes;
        while (true) {
            RecordBatch batch = fetch(maxRecords - count, bytesLeft, own, count == 0);
            if (batch == null) {
                return count == 0 ? Fetcher.LIMIT : count;
            }
            count += batch.count();
            bytesLeft -= batch.bytes();
            boolean isLast = !batch.isFull();
            try {
                batch.deliver(handler);
            } finally {
                if (batch.delivered() < batch.count()) {
                    release(batch);
                }
                spare.giveBack(batch);
            }
            if (isLast) {
                return count;
            }
        }
    }

    // Null where max_unacked allows no more. Once the caller has records, nothing is raised: the next call meets it.
    private RecordBatch fetch(int maxRecords, long maxBytes, boolean own, boolean first) {
        Thread self = lock.acquire();
        try {
            if (first) {
                checkUsable();
            }
            RecordBatch batch = spare.take();
            batch.begin(own, placements);
            boolean allowed = false;
            try {
                allowed = !isUsable() || fetcher.fill(batch, maxRecords, maxBytes, first);
                return allowed ? batch : null;
            } finally {
                if (!allowed) {
                    spare.giveBack(batch);
                }
            }
        } catch (CorruptException e) {
            throw orDropped(e);
        } catch (IOException e) {
            throw failed(e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            // At the end of its stack a thread can store to a field, but may not have the room for a call.
            try {
                fetcher.rest();
                lock.release();
            } finally {
                if (lock.owner == self) {
                    lock.owner = null;
                }
            }
        }
    }

    // What a handler did not get has not been popped, unless the consumer was moved or closed since.
    private void release(RecordBatch batch) {
        claimed(() -> {
            if (isUsable() && batch.placement() == placements) {
                for (int i = batch.delivered(); i < batch.count(); i++) {
                    redelivery.release(batch.offset(i), batch.attempts(i));
                }
            }
            return null;
        });
    }

    /** Whether a pop would find something; any thread, no effect. */
    public boolean hasNext() {
        Thread self = lock.acquire();
        try {
            return !isUsable() || fetcher.hasNext();
        } catch (IOException | RuntimeException | InternalError e) {
            return true; // the pop that follows raises it
        } finally {
            if (lock.owner == self) {
                lock.owner = null;
            }
        }
    }

    /** Until when nothing that was popped comes back, by System.nanoTime. */
    public long quietUntil() {
        long millis = claimed(redelivery::quietMillis);
        return System.nanoTime() + (millis == NEVER ? NEVER / 2 : TimeUnit.MILLISECONDS.toNanos(millis));
    }

    public UnackedLimitException limit() {
        return new UnackedLimitException("consumer " + name + " has popped " + (readOffset() - committedOffset())
                + " records beyond the first one that it has not acked, offset " + committedOffset()
                + "; max_unacked allows no more");
    }

    /** Everything up to {@code offset} has been dealt with. True when somebody may wait for that. */
    public boolean ack(long offset) {
        Thread self = lock.acquire();
        try {
            checkUsable();
            checkPopped(offset, "ack");
            return commitIfBehind(offset >= window.first() ? window.advance(offset + 1) : window.first());
        } catch (CorruptException e) {
            throw orDropped(e);
        } catch (IOException e) {
            throw failed(e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            try {
                lock.release();
            } finally {
                if (lock.owner == self) {
                    lock.owner = null;
                }
            }
        }
    }

    /** These have been dealt with, whatever becomes of the others. True when somebody may wait for that. */
    public boolean ackSingle(long... offsets) {
        Thread self = lock.acquire();
        try {
            checkUsable();
            for (long offset : offsets) {
                checkPopped(offset, "ack");
            }
            for (long offset : offsets) {
                if (offset == window.first()) {
                    window.advance(offset + 1);
                } else if (window.contains(offset)) {
                    window.mark(offset, Window.ACKED);
                }
            }
            return commitIfBehind(window.first());
        } catch (CorruptException e) {
            throw orDropped(e);
        } catch (IOException e) {
            throw failed(e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            try {
                lock.release();
            } finally {
                if (lock.owner == self) {
                    lock.owner = null;
                }
            }
        }
    }

    // The last ack may have failed behind the window's step: then this one stores what that one was to.
    private boolean commitIfBehind(long acked) throws IOException {
        return acked > committedOffset.getPlain() && commit(acked);
    }

    // True when a segment has become free, or room in the window.
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

    /** Gives a record back; true when it goes to the dead-letter queue, which is the caller's to do. */
    public boolean nack(long offset, long delayNanos) {
        return claimed(() -> {
            checkUsable();
            checkPopped(offset, "nack");
            if (window.state(offset) == Window.ACKED) {
                throw outOfRange("nack by consumer " + name + " of a record that it has acked", offset);
            }
            return redelivery.giveBack(offset, -Math.floorDiv(-delayNanos, TimeUnit.MILLISECONDS.toNanos(1)));
        });
    }

    /** Takes records back as if they had not been popped; those that are not out any more are left as they are. */
    public void unpop(long[] offsets) {
        claimed(() -> {
            checkUsable();
            for (long offset : offsets) {
                checkPopped(offset, "unpop");
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
            committed = place.position();
            standAt(place.position(), place.offset());
            return true;
        });
    }

    private void checkPopped(long offset, String what) {
        if (offset < 0 || offset >= window.next()) {
            throw outOfRange(what + " by consumer " + name + " of a record that it has not popped", offset);
        }
    }

    private OutOfRangeException outOfRange(String what, long offset) {
        return new OutOfRangeException(what, offset, window.first(), window.next() - 1);
    }

    private void checkUsable() {
        if (closed) {
            throw new ClosedException("the queue, or its consumer " + name + ", is closed");
        }
        if (isDropped()) {
            throw dropped();
        }
    }

    private boolean isUsable() {
        return !closed && !isDropped();
    }

    private boolean isDropped() {
        return cursors.dropped() > committed;
    }

    // What the writer has taken from this consumer may hold later records by now.
    private MmapQueueException orDropped(CorruptException e) {
        return !closed && isDropped() ? dropped() : e;
    }

    // The writer has taken what this consumer was too slow to ack.
    private DroppedException dropped() {
        // Before committed is stored: after that the writer takes the next drop for a new one.
        long first = placeIsLost ? cursors.droppedFirst() : window.first();
        do {
            committed = standWhereNeeded();
            cursors.committed(committed);
        } while (!cursors.noteDrop(committed));
        placeIsLost = false;
        return new DroppedException(name, first, window.first() - 1);
    }

    private MmapQueueException failed(Exception e) {
        return new MmapQueueException("consumer " + name + " could not read on: " + e, e);
    }

    /** Waits for the call that is under way and lets no other one begin. */
    @Override
    public void close() throws IOException {
        Thread self = lock.acquire();
        try {
            if (!closed) {
                closed = true;
                log.leftAt(committedOffset.get());
                Closing.all(this::writeInFlight, this::leave);
            }
        } finally {
            if (lock.owner == self) {
                lock.owner = null;
            }
            if (closed) {
                ownership.close(); // again, when an error has cut off the first close
            }
        }
    }

    private void writeInFlight() throws IOException {
        if (inFlightFile != null && !isDropped()) {
            inFlightFile.write(window, saved, committed, fetcher.position());
        }
    }

    private void leave() {
        fetcher.leave();
        redelivery.leave();
    }
}
