package org.mmapqueue.lookup;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.log.BatchSource;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.log.TruncatedFiles;

/**
 * Reads records by number or time in format version 2, and moves no consumer. Any number of threads, one at a time
 * inside. A call pins at most two segments, and none is pinned between calls, so the writer always gets its places.
 *
 * <p>What is read is not held: the writer may give its slot to a later segment meanwhile, in another process too.
 * Nothing wrong comes out of that. Each record is checked against its place, generation and epoch; a number or a time that was
 * found counts only if its segment was still retained afterwards; and a call that has lost a segment looks at the range
 * anew.
 */
public final class RandomAccessReader extends BatchSource implements Closeable {
    private static final int TRIES = 4;

    /** What there is to read; everything is asked for at each call. */
    interface Source {
        /** The oldest record that is retained begins behind this position: a record's end, or that of a segment. */
        long head();

        /** What lies before this position may be overwritten at any time. */
        long reclaimed();

        /** What lies before this position is published. */
        long end();

        /** Whether records get timestamps. */
        boolean timestamps();
    }

    /**
     * A place in the log.
     *
     * @param offset the number of a record
     * @param position the record begins behind it
     */
    public record Place(long offset, long position) {}

    private final LogReaderV2 reader;
    private final Source source;
    private final RetainedLog log;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile boolean closed;

    /**
     * A browser with nothing in its memory.
     *
     * @param reader its own
     */
    RandomAccessReader(LogReaderV2 reader, Source source) {
        this.reader = reader;
        this.source = source;
        this.log = new RetainedLog(reader, source);
    }

    /**
     * Reads records.
     *
     * @param offset the first one's number
     * @param count the most records
     * @param maxBytes the most bytes of payload; a first record that is larger is read all the same
     * @return those that there are, in order, at least one; their attempts are 0
     * @throws OutOfRangeException when the first one is not retained any more, or not there yet
     * @throws CorruptException when the first one is damaged
     */
    public List<Message> get(long offset, int count, long maxBytes) {
        List<Message> messages = new ArrayList<>(Math.min(count < 1 ? 0 : count, 16));
        try {
            get(
                    offset,
                    count,
                    maxBytes,
                    true,
                    (number, timestamp, data, start, length, attempts) ->
                            messages.add(new Message(number, timestamp, data, attempts)));
        } catch (OutOfMemoryError e) {
            if (messages.isEmpty()) {
                throw e;
            }
        }
        return messages;
    }

    /**
     * Reads records without an allocation for each.
     *
     * @param offset the first one's number
     * @param count the most records
     * @param maxBytes the most bytes of payload; a first record that is larger is read all the same
     * @param handler is called with each record, in order, without the lock
     * @return how many there were, at least one
     * @throws OutOfRangeException when the first one is not retained any more, or not there yet
     * @throws CorruptException when the first one is damaged
     */
    public int get(long offset, int count, long maxBytes, MessageHandler handler) {
        return get(offset, count, maxBytes, false, handler);
    }

    private int get(long offset, int count, long maxBytes, boolean own, MessageHandler handler) {
        if (count < 1 || maxBytes < 1) {
            throw new IllegalArgumentException(
                    "count = " + count + ", maxBytes = " + maxBytes + "; both must be at least 1");
        }
        return deliver(offset, count, maxBytes, own, handler);
    }

    @Override
    protected void undelivered(RecordBatch batch) {
        // No position moves with a random read.
    }

    // What stops it after the first batch is left to the next call.
    @Override
    protected RecordBatch fetch(long offset, int count, long maxBytes, boolean own, boolean first) {
        try {
            return fetchFrom(offset, count, maxBytes, own, first);
        } catch (MmapQueueException e) {
            if (first) {
                throw e;
            }
            return null;
        }
    }

    private RecordBatch fetchFrom(long offset, int count, long maxBytes, boolean own, boolean first) {
        return call(() -> {
            if (!log.goTo(offset)) {
                throw log.outOfRange(offset);
            }
            RecordBatch batch = spare.take();
            batch.begin(own, 0);
            boolean read = false;
            try {
                while (batch.count() < count && read(offset + batch.count(), batch, maxBytes, first)) {
                    reader.advance();
                }
                if (first && batch.count() == 0) {
                    throw log.outOfRange(offset); // its segment is not published yet
                }
                read = true;
                return batch;
            } finally {
                if (!read) {
                    spare.giveBack(batch);
                }
            }
        });
    }

    /**
     * The first record that was pushed at a time or later.
     *
     * @param micros µs since 1970
     * @return its number; empty when there is none
     * @throws ConfigException when the queue stores no timestamps
     */
    public OptionalLong find(long micros) {
        Place place = placeOfTime(micros);
        return place == null ? OptionalLong.empty() : OptionalLong.of(place.offset());
    }

    /** The number of the oldest record that is retained; {@link #endOffset} when none is. */
    public long firstOffset() {
        return call(log::first);
    }

    /** The log's end. */
    Place locateEnd() {
        return call(() -> new Place(log.next(), log.end()));
    }

    /** Where the oldest record that is retained begins; the log's end when none is. */
    Place locateFirst() {
        return call(() -> log.goTo(log.first()) ? log.place() : new Place(log.next(), log.end()));
    }

    /** The number that the next record gets, found in the log: another process may be the one that writes. */
    long endOffset() {
        return call(log::next);
    }

    /**
     * Where a record begins.
     *
     * @param offset its number; the one of the record to come is the log's end
     * @throws OutOfRangeException when it is not retained any more, or not there yet
     */
    public Place locate(long offset) {
        return call(() -> {
            if (log.goTo(offset)) {
                return log.place();
            }
            if (offset == log.next()) {
                return new Place(offset, log.end());
            }
            throw log.outOfRange(offset);
        });
    }

    /**
     * Where the first record begins that was pushed at a time or later; the log's end when there is none.
     *
     * @param micros µs since 1970
     * @throws ConfigException when the queue stores no timestamps
     */
    Place locateTime(long micros) {
        Place place = placeOfTime(micros);
        return place != null ? place : locateEnd();
    }

    /**
     * The number of the record that begins behind a position. That may lie behind {@link Source#end}: a record can be
     * popped and acked before its writer has said where it ends.
     *
     * @throws CorruptException when no record ends there
     * @throws MmapQueueException when it is not retained any more
     */
    long offsetAt(long position) {
        return call(() -> log.retainedNumberAt(position));
    }

    /**
     * Returns when a record is retained, or is the one to come.
     *
     * @throws OutOfRangeException when it is not
     */
    public void checkRetained(long offset) {
        call(() -> {
            if (offset < log.first() || offset > log.next()) {
                throw log.outOfRange(offset);
            }
            return null;
        });
    }

    /**
     * How much of the log records take, framing included. Exact for records that begin a segment, and by their share of
     * the segment's records for others.
     *
     * @param from the first one's number
     * @param to the number behind the last one
     * @throws OutOfRangeException when one of them is not retained any more, or not there yet
     */
    public long bytes(long from, long to) {
        return call(() -> log.estimate(to) - log.estimate(from));
    }

    /**
     * Cuts a range into parts of about the same size, at segments' beginnings where parts are larger than segments.
     *
     * @param from the first record's number
     * @param to the number behind the last one
     * @param bytes the size of a part, framing included, at least 1
     * @return the numbers of the parts' first records, and at last {@code to}
     * @throws OutOfRangeException when one of them is not retained any more, or not there yet
     */
    public long[] split(long from, long to, long bytes) {
        return call(() -> log.split(from, to, bytes));
    }

    /** Waits for the call that is under way and lets no other one begin. */
    @Override
    public void close() {
        StackRoom.lock(lock);
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    boolean isClosed() {
        return closed;
    }

    // ---- one attempt, between the bounds that it has begun with

    // The next record, if there is one and it is not too large. What comes after a fault is left to the next call.
    private boolean read(long offset, RecordBatch batch, long maxBytes, boolean first) throws IOException {
        boolean any = batch.count() > 0;
        try {
            if (reader.position() >= log.end() || !reader.next()) {
                return false;
            }
            if (reader.isLost()) {
                if (any) {
                    return false;
                }
                throw new OutOfRangeException(
                        "a record that was lost, and marked so by a repair", log.number(), log.first(), log.next() - 1);
            }
            if (!batch.takes(reader.length(), maxBytes, first)) {
                return false;
            }
            reader.read(batch.room(reader.length()), batch.start());
            batch.add(offset, reader.timestamp(), reader.length(), 0);
            return true;
        } catch (IOException | RuntimeException | Error e) {
            if (any) {
                return false;
            }
            throw e;
        }
    }

    private Place placeOfTime(long micros) {
        if (!source.timestamps()) {
            throw new ConfigException("timestamps", "false", "true, where records are to be found by their time");
        }
        return call(() -> log.goToTime(Math.max(0, micros)) ? log.place() : null);
    }

    private interface Attempt<T> {
        T run() throws IOException;
    }

    private <T> T call(Attempt<T> attempt) {
        StackRoom.lock(lock);
        try {
            int tries = 1;
            while (true) {
                checkOpen();
                log.look();
                try {
                    return attempt.run();
                } catch (CorruptException e) {
                    tries = triesAfter(e, tries);
                } finally {
                    reader.leave();
                }
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue could not be read: " + e, e);
        } catch (InternalError e) {
            throw TruncatedFiles.explain(e, reader.swapper().ring());
        } finally {
            lock.unlock();
        }
    }

    // A segment that was lost while it was read is no damage, and lies before the bounds of the next attempt. Each
    // retry
    // fails only if the writer advanced by another segment.
    private int triesAfter(CorruptException e, int tries) {
        if (log.isLost()) {
            log.forgetLast();
            return tries;
        }
        if (tries == TRIES) {
            throw e;
        }
        log.forgetAll();
        return tries + 1;
    }

    private void checkOpen() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
    }
}
