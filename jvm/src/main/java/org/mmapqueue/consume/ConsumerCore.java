package org.mmapqueue.consume;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
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
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.log.BatchDelivery;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.log.SkippedDamage;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.RandomAccessReader;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.registry.Registry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One consumer in the process that owns it. Safe for any number of threads: each record goes to one of them, as the
 * lock lets one thread at a time move the reading position. Requeued records come before new ones.
 */
public final class ConsumerCore implements Closeable {
    /** Returned by {@link #poll(int, long, boolean, MessageHandler)} when max_unacked allows no record. */
    public static final int NOT_ALLOWED = BatchDelivery.NOT_ALLOWED;

    /** The deadline of a call without a timeout. */
    public static final long NO_DEADLINE = Long.MIN_VALUE;

    private static final Logger LOG = LoggerFactory.getLogger(ConsumerCore.class);
    private static final long NEVER = Long.MAX_VALUE;
    /**
     * The maximum number of bytes that a pop copies to a shared buffer at once: so much stays in the first cache of a core
     * until the handler reads it.
     */
    private static final int CACHED_BYTES = 8 << 10;

    private static final long ANY = -1;

    private final String name;
    private final ConsumerCursors cursors;
    private final Fetcher fetcher;
    /** What calls have to log when they have released the lock. */
    private final GuardedLog untold = new GuardedLog();

    private final Log log;
    private final InFlightFile inFlightFile;
    private volatile Closeable ownership;
    private final SpinLock lock = new SpinLock();
    private final InFlight inFlight;
    private final BatchDelivery delivery = new BatchDelivery(this::fetch, this::releaseUndelivered);
    /** For pops of one record: under the lock, and until a handler has returned. */
    private final PoppedRecord single = new PoppedRecord();

    private final PoppedRecord reused = new PoppedRecord();
    private final CommittedPosition committed;
    private final DamagePolicy damage;
    private final ConsumerMeters meters;
    /** Whether the ring has given up records while a call read them; guarded by the lock. */
    private boolean mayRepeat;
    /** Whether one thread has popped between two rounds of another one's batch; guarded by the lock. */
    private boolean isContended;

    private volatile boolean closed;
    /** Who has the consumer open: handles, and the queue itself. */
    private final Set<Object> users = ConcurrentHashMap.newKeySet();
    /** Guards the snapshot; taken before {@link #lock}. */
    private final Object saving = new Object();

    /**
     * Starts at the committed position, with the in-flight records of the last snapshot.
     *
     * @param delivery limits and leases of records that are not acked
     * @param inFlightFile the snapshot of in-flight records, or null
     * @param archive of what the ring gives up
     * @param ownership released when the consumer is closed
     */
    public ConsumerCore(
            String name,
            ConsumerCursors cursors,
            Log log,
            Settings.Delivery delivery,
            InFlightFile inFlightFile,
            QueueArchive archive,
            Closeable ownership)
            throws IOException {
        this.name = name;
        this.cursors = cursors;
        this.log = log;
        this.inFlightFile = inFlightFile;
        this.ownership = ownership;
        this.inFlight = new InFlight(delivery, InFlight.clock());
        Drops drops = new Drops(cursors);
        this.damage = new DamagePolicy(
                delivery.skipsDamage() ? log.damageSkip() : null, drops, new SkippedDamage("consumer " + name, untold));
        OlderCursor older = new OlderCursor(() -> archive.readAhead(name, delivery.skipsDamage()));
        this.fetcher = new Fetcher(log.reader(), log.reader(), older, cursors, inFlight, damage, untold);
        this.committed = new CommittedPosition(name, cursors, log, inFlight, fetcher, damage, drops, archive);
        long position = committed.begin();
        this.meters = ConsumerMeters.from(inFlight.first(), position, fetcher.redelivered());
        if (inFlightFile != null) {
            restore(inFlightFile.read());
        }
    }

    // A snapshot must end at the record that begins at its position: a file with a right checksum and a wrong count
    // would ack records that no one has popped.
    private void restore(ByteBuffer image) {
        long first = inFlight.first();
        if (image == null || InFlightDescriptor.end(image) <= first) {
            return;
        }
        String fault;
        try {
            long begin = image.getLong(InFlightDescriptor.FIRST);
            long end = InFlightDescriptor.end(image);
            // A position before the committed one may not be retained: no record of the file ends there.
            long reading = image.getLong(InFlightDescriptor.READING);
            // The ring may have given up the last of them since, and with it that position.
            long found = fetcher.isOlder(end - 1)
                    ? end
                    : OlderPosition.isOne(reading) || reading <= committed.position() ? -1 : log.offsetAt(reading);
            fault = found != end
                    ? "its records end at offset " + end + ", expected " + found
                    : begin > first ? "its records begin at offset " + begin + ", expected at most " + first : null;
        } catch (CorruptException | OutOfRangeException e) { // not if the log could not be read
            fault = e.getMessage();
        }
        String why = fault;
        if (why == null) {
            InFlightFile.restore(image, first, System.currentTimeMillis(), inFlight);
        } else {
            untold.note(() -> LOG.warn(
                    "the records in flight of consumer {} are redelivered, their file is ignored: {}", name, why));
        }
    }

    /**
     * Makes durable what is known of the in-flight records, if the committed position alone does not say it and it has
     * changed since the last call.
     */
    void save() throws IOException {
        save(this::changes);
    }

    /** As {@link #save}, with first deliveries: after a kill, these count as attempts, too. */
    public void saveDeliveries() throws IOException {
        save(this::deliveries);
    }

    private void save(Callable<ByteBuffer> imageMaker) throws IOException {
        synchronized (saving) {
            ByteBuffer image = inFlightFile == null ? null : locked(imageMaker);
            if (image == null) {
                return;
            }
            boolean isSaved = false;
            try {
                // First: a snapshot on the disk never begins after the committed position there.
                cursors.force();
                inFlightFile.write(image);
                isSaved = true;
            } finally {
                if (!isSaved) {
                    noteUnsaved();
                }
            }
        }
    }

    // The next save writes the file, whatever has changed until then.
    private void noteUnsaved() {
        locked(() -> {
            inFlight.noteSaved(false);
            return null;
        });
    }

    // An image for a flush; null for none.
    private ByteBuffer changes() throws IOException {
        if (closed || committed.isDropped() && !committed.overtaken() || !inFlight.isChanged()) {
            return null;
        }
        ByteBuffer image = inFlight.tellsMore() ? image(InFlightFile.MOST_RUNS) : null;
        inFlight.noteSaved(true);
        return image;
    }

    // An image of all in-flight records; null if there are none, or they are dropped.
    private ByteBuffer deliveries() {
        if (closed || committed.isDropped() || committed.offset() == inFlight.end()) {
            return null;
        }
        ByteBuffer image = image(InFlightFile.MOST_RUNS);
        inFlight.noteSaved(true);
        return image;
    }

    private ByteBuffer image(int mostRuns) {
        return inFlightFile.image(
                inFlight, committed.offset(), fetcher.position(), System.currentTimeMillis(), mostRuns);
    }

    public String name() {
        return name;
    }

    public String label() {
        return cursors.label();
    }

    /** Stores the label, durably. */
    public void label(String text) throws IOException {
        if (!text.equals(cursors.label())) {
            cursors.label(text);
            cursors.force();
        }
    }

    /** The damaged ranges that were skipped. Any thread. */
    public SkippedDamage damage() {
        return damage.skipped();
    }

    /** What was counted since this process opened the consumer. */
    public ConsumerMeters meters() {
        return meters;
    }

    public boolean isClosed() {
        return closed;
    }

    /** Who has the consumer open in this process. */
    Set<Object> users() {
        return users;
    }

    public long readOffset() {
        return fetcher.readOffset();
    }

    public long committedOffset() {
        return committed.offset();
    }

    /** The offset of the first record that is neither acked nor dropped. */
    public long neededOffset() {
        return locked(() -> committed.isDropped() ? committed.oldestNeeded().offset() : committed.offset());
    }

    public long unacked() {
        return locked(inFlight::unacked);
    }

    /** The number of records that are not acked, if the log ends at offset {@code end}. */
    public long lag(long end) {
        return locked(() -> Math.max(0, end - committed.offset() - inFlight.acked()));
    }

    /** The number of records to pop, requeued ones included, if the log ends at offset {@code end}. */
    public long size(long end) {
        return locked(() -> Math.max(0, end - inFlight.next() - inFlight.ackedAhead()) + inFlight.requeued());
    }

    // Repeats the work if the ring has given up what it has read, for the archive.
    private <T> T locked(Callable<T> work) {
        lock.lock();
        try {
            while (true) {
                try {
                    return work.call();
                } catch (CorruptException e) {
                    if (!isOvertaken(e)) {
                        throw explained(e);
                    }
                }
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception | InternalError e) {
            throw explained(e);
        } finally {
            lock.unlock();
        }
    }

    /** Pops one record; null if none is available. */
    public Message poll() {
        lock.lock();
        try {
            byte[] data = fetch(single, true);
            return data == null ? null : single.message(data);
        } catch (CorruptException | IOException | InternalError e) {
            if (isOvertaken(e)) {
                return null;
            }
            throw explained(e);
        } finally {
            rest();
        }
    }

    /**
     * Pops one record. The handler is called without the lock. If it throws, the record is released.
     *
     * @return false if none is available
     */
    public boolean poll(MessageHandler handler) {
        PoppedRecord record = fetch();
        if (record == null) {
            return false;
        }
        boolean isHandled = false;
        try {
            record.deliver(handler);
            isHandled = true;
        } finally {
            if (!isHandled) {
                releaseUndelivered(record);
            }
            record.put();
        }
        return true;
    }

    private PoppedRecord fetch() {
        PoppedRecord record = null;
        boolean isPopped = false;
        lock.lock();
        try {
            record = reused.take();
            record.placement(committed.placements());
            isPopped = fetch(record, false) != null;
            return isPopped ? record : null;
        } catch (CorruptException | IOException | InternalError e) {
            if (isOvertaken(e)) {
                return null;
            }
            throw explained(e);
        } finally {
            if (record != null && !isPopped) {
                record.put();
            }
            rest();
        }
    }

    // The caller holds the lock.
    private byte[] fetch(PoppedRecord record, boolean own) throws IOException {
        checkUsable();
        byte[] data = fetcher.pop(record, own);
        if (data == null && fetcher.isLimited()) {
            throw committed.limit();
        }
        return data;
    }

    private void rest() {
        try {
            fetcher.rest();
        } finally {
            unlock();
        }
    }

    // Ends a call that may have something to log, of a caller without a lock.
    private void unlock() {
        lock.unlock();
        tell();
    }

    /** Logs what calls of a caller with a lock have left to be logged. */
    public void tell() {
        untold.tell();
    }

    public Message peek() {
        Message found;
        try {
            do {
                found = locked(() -> {
                    checkUsable();
                    return fetcher.peek();
                });
            } while (found == null && awaitOlder(NO_DEADLINE));
        } finally {
            tell();
        }
        return found;
    }

    /**
     * Waits until the next record to deliver is in memory, if only the archive has it. After a call that has delivered
     * nothing; the caller then repeats it.
     *
     * @param deadline the end of the call, by System.nanoTime; {@link #NO_DEADLINE} for a call without a timeout
     * @return false if the next record is not in the archive alone: the call has found none
     * @throws DroppedException if the archive's retention has deleted it
     * @throws CorruptException if it is damaged in the archive
     * @throws MmapQueueException if the archive cannot be read
     */
    public boolean awaitOlder(long deadline) {
        Loading loading = locked(this::loading);
        if (loading == null || loading.offset < 0) {
            return loading != null;
        }
        try {
            long left = deadline == NO_DEADLINE ? 0 : Math.max(1, deadline - System.nanoTime());
            loading.from.await(loading.offset, left);
            return true;
        } catch (OutOfRangeException e) {
            throw locked(() -> {
                checkOpen();
                return committed.deleted(loading.offset, e.first());
            });
        }
    }

    /** What is loaded from the archive; an offset of -1 means that a call may be repeated at once. */
    private record Loading(ReadAhead from, long offset) {}

    private Loading loading() throws IOException {
        boolean repeats = mayRepeat;
        mayRepeat = false;
        if (closed || committed.isDropped() && !committed.overtaken()) {
            return null;
        }
        long offset = fetcher.nextOlder();
        return offset >= 0 ? new Loading(fetcher.ahead(), offset) : repeats ? new Loading(null, -1) : null;
    }

    // Whether the ring has given up records for the archive while they were read, which is no damage.
    private boolean isOvertaken(Throwable e) {
        try {
            boolean isSo = e instanceof CorruptException && !closed && committed.isDropped() && committed.overtaken();
            mayRepeat |= isSo;
            return isSo;
        } catch (IOException failure) {
            throw explained(failure);
        }
    }

    /**
     * Pops at most {@code maxRecords} and {@code maxBytes}, but at least one record if one is available. The handler is
     * called without the lock. If it throws, the records that it did not get are released.
     *
     * @param own whether each record is in an array of its own, which the handler may keep
     * @return the number of records; {@link #NOT_ALLOWED} if there is a record, but max_unacked allows no more
     */
    public int poll(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        return delivery.deliver(0, maxRecords, maxBytes, own, handler);
    }

    // Null at max_unacked. Only the first batch of a call throws; a later error is left to the next call.
    // Rounds are small until threads contend: a small one is followed by the next records, or by none.
    private RecordBatch fetch(long next, int maxRecords, long maxBytes, boolean own, boolean first) {
        lock.lock();
        try {
            if (first) {
                checkUsable();
            }
            boolean isInterrupted = !first && next != ANY && next != inFlight.next();
            isContended |= isInterrupted;
            boolean isSmall = !own && !isContended;
            RecordBatch batch = delivery.take(
                    committed.placements(), maxBytes, own, first, isSmall ? CACHED_BYTES : RecordBatch.MOST_BYTES);
            if (isInterrupted || !first && !isUsable()) {
                return batch;
            }
            boolean allowed = false;
            try {
                allowed = fill(batch, maxRecords, first);
                batch.next(isSmall ? inFlight.next() : ANY);
                return allowed ? batch : null;
            } finally {
                if (!allowed) {
                    delivery.put(batch);
                }
            }
        } catch (CorruptException | IOException | InternalError e) {
            throw explained(e);
        } finally {
            rest();
        }
    }

    private boolean fill(RecordBatch batch, int maxRecords, boolean first) throws IOException {
        try {
            return fetcher.fill(batch, maxRecords, first);
        } catch (CorruptException e) {
            if (isOvertaken(e)) {
                return true; // the batch is empty
            }
            throw e;
        }
    }

    // Releases the records that the handler did not get, unless the consumer was moved or closed since. A drop that the
    // consumer does not know of yet may leave them in flight.
    private void releaseUndelivered(RecordBatch batch) {
        locked(() -> {
            if (!closed && batch.placement() == committed.placements()) {
                for (int i = batch.delivered(); i < batch.count(); i++) {
                    inFlight.release(batch.offset(i), batch.attempts(i));
                }
            }
            return null;
        });
    }

    private void releaseUndelivered(PoppedRecord record) {
        locked(() -> {
            if (!closed && record.placement() == committed.placements()) {
                inFlight.release(record.offset(), record.attempts());
            }
            return null;
        });
    }

    /** Whether a pop would find a record. */
    public boolean hasNext() {
        lock.lock();
        try {
            return !isUsable() || fetcher.hasNext();
        } catch (IOException | RuntimeException | InternalError e) {
            return true; // the next pop throws the error
        } finally {
            unlock();
        }
    }

    /** Earliest System.nanoTime at which a redelivery may be due. */
    public long quietUntil() {
        long millis = locked(inFlight::quietMillis);
        return System.nanoTime() + (millis == NEVER ? NEVER / 2 : TimeUnit.MILLISECONDS.toNanos(millis));
    }

    public UnackedLimitException limit() {
        return locked(committed::limit);
    }

    /** Acks all records up to and including {@code offset}; returns whether a segment or room for another record was freed. */
    public boolean ackUpTo(long offset) {
        return ack(offset, true, null);
    }

    /** Acks one record; returns as {@link #ackUpTo}. */
    public boolean ack(long offset) {
        return ack(offset, false, null);
    }

    /** Acks each of these records, or none; returns as {@link #ackUpTo}. */
    public boolean ack(long[] offsets) {
        return ack(-1, false, offsets);
    }

    private boolean ack(long offset, boolean upTo, long[] offsets) {
        lock.lock();
        try {
            checkUsable();
            if (offsets != null) {
                return committed.ack(offsets);
            }
            return upTo ? committed.ackUpTo(offset) : committed.ack(offset);
        } catch (CorruptException | IOException | InternalError e) {
            if (isOvertaken(e)) {
                return true; // the acks are stored
            }
            throw explained(e);
        } finally {
            unlock();
        }
    }

    /** Requeues a record; returns whether its attempts are used up: the caller then moves it to the dead letters. */
    public boolean nack(long offset, long delayNanos) {
        return locked(() -> {
            checkUsable();
            committed.checkPopped(offset, "nack");
            if (inFlight.state(offset) == InFlight.ACKED) {
                throw committed.outOfRange("nack by consumer " + name + " of a record that it has acked", offset);
            }
            return inFlight.requeue(offset, -Math.floorDiv(-delayNanos, TimeUnit.MILLISECONDS.toNanos(1)));
        });
    }

    /** Marks an in-flight record for the dead-letter queue, whatever its attempts: the caller then moves it there. */
    public void deadLetter(long offset) {
        locked(() -> {
            checkUsable();
            committed.checkPopped(offset, "dead letter");
            if (inFlight.state(offset) == InFlight.ACKED) {
                throw committed.outOfRange(
                        "dead letter by consumer " + name + " of a record that it has acked", offset);
            }
            inFlight.giveUp(offset);
            return null;
        });
    }

    /** Requeues in-flight records without counting the attempt; leaves other records as they are. */
    public void release(long[] offsets) {
        locked(() -> {
            checkUsable();
            for (long offset : offsets) {
                committed.checkPopped(offset, "release");
            }
            for (long offset : offsets) {
                inFlight.release(offset);
            }
            return offsets.length;
        });
    }

    /** Whether a record waits to be moved to the dead-letter queue. */
    public boolean hasDeadLetters() {
        return inFlight.hasDead();
    }

    /** The next record for the dead-letter queue; null for none, and after a drop: the next call throws that. */
    Message nextDeadLetter() {
        return locked(() -> {
            try {
                return keepsInFlight() ? fetcher.nextDeadLetter() : null;
            } catch (NotLoadedException e) {
                return null; // it is requeued
            } catch (CorruptException e) {
                if (committed.isDropped()) {
                    return null;
                }
                throw e;
            }
        });
    }

    /** Acks a record that the dead-letter queue has, unless it was dropped, or the consumer moved or closed, since. */
    void deadLettered(long offset) {
        locked(() -> keepsInFlight() && inFlight.isDead(offset) && committed.ack(offset));
    }

    /** Requeues, after a delay, a record that the dead-letter queue did not take. */
    void retryDeadLetter(long offset) {
        locked(() -> fetcher.retryDeadLetter(offset));
    }

    /** Requeues all in-flight records. */
    void seekCommitted() {
        locked(() -> {
            checkUsable();
            return inFlight.requeueAll();
        });
    }

    /** Moves to a record; returns false if the writer has reclaimed the record's segment. */
    boolean seek(RandomAccessReader.OffsetPosition target, Registry registry) throws IOException {
        return moved(() -> committed.seek(target, registry));
    }

    /** Moves to a record that only the archive has; returns false if the writer has reclaimed the ring's first segment. */
    boolean seekBehind(long offset, RandomAccessReader.OffsetPosition ring, Registry registry) throws IOException {
        return moved(() -> committed.seekBehind(offset, ring, registry));
    }

    private boolean moved(Callable<Boolean> move) throws IOException {
        synchronized (saving) {
            locked(() -> {
                checkUsable();
                return null;
            });
            boolean isMoved = false;
            try {
                if (inFlightFile != null) {
                    inFlightFile.delete(); // durably, before the move: its records count as not popped from then on
                }
                isMoved = locked(() -> {
                    checkUsable();
                    return move.call();
                });
                return isMoved;
            } finally {
                if (!isMoved) {
                    noteUnsaved(); // they stay in flight
                }
            }
        }
    }

    /** Commits every record before an offset, popped or not. Records after it stay in flight. */
    public void commit(RandomAccessReader.OffsetPosition target, Registry registry) {
        locked(() -> {
            checkOpen();
            committed.passTo(target, registry);
            return null;
        });
    }

    private void checkUsable() throws IOException {
        checkOpen();
        if (committed.isDropped() && !committed.overtaken()) {
            DroppedException dropped = committed.dropped();
            if (dropped.first() <= dropped.last()) { // else no record was dropped, only the unused end of a segment
                throw dropped;
            }
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new ClosedException("the queue, or its consumer " + name + ", is closed");
        }
    }

    private boolean isUsable() {
        return !closed && !committed.isDropped();
    }

    // Whether what is in flight stays so: the ring may have given it up for the archive.
    private boolean keepsInFlight() throws IOException {
        return !closed && (!committed.isDropped() || committed.overtaken());
    }

    // The exception to throw for a failed read. An unexplained fault in a mapping is rethrown unchanged.
    private MmapQueueException explained(Throwable e) {
        if (e instanceof CorruptException damage) {
            return committed.orDropped(damage, closed);
        }
        if (e instanceof InternalError fault) {
            return log.explain(fault);
        }
        return new MmapQueueException("consumer " + name + " could not continue reading: " + e, e);
    }

    /** Waits for the running call; later calls throw ClosedException. */
    @Override
    public void close() throws IOException {
        synchronized (saving) {
            lock.lock();
            try {
                if (!closed) {
                    closed = true;
                    log.leftAt(committed.offset());
                    Closing.all(this::writeInFlight, this::resetReading, fetcher::leave);
                }
            } finally {
                lock.unlock();
                if (closed) {
                    ownership.close(); // again: an error may have cut off the first close
                }
            }
        }
    }

    /** Leaves the ownership to the caller: a close does not release it any more. */
    public Closeable keepOwnership() {
        Closeable kept = ownership;
        ownership = () -> {};
        return kept;
    }

    // Shows other processes, in the consumer's page, that nothing is in flight. In version 1 the next open does that.
    private void resetReading() {
        if (inFlightFile != null) {
            cursors.reading(committed.position());
        }
    }

    private void writeInFlight() throws IOException {
        if (inFlightFile == null || committed.isDropped() && !committed.overtaken()) {
            return;
        }
        cursors.force(); // first: the page then says at least as much as the file that is deleted or replaced
        if (committed.offset() == inFlight.end()) {
            inFlightFile.delete();
        } else {
            inFlightFile.write(image(InFlightFile.ALL_RUNS));
        }
    }
}
