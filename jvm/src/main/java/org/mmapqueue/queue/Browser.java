package org.mmapqueue.queue;

import java.io.Closeable;
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReentrantLock;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.segment.Geometry;

/**
 * Reads records by number or time in format version 2, and moves no consumer. Any number of threads, one at a time
 * inside. A call pins at most two segments, and none is pinned between calls, so the writer always gets its places.
 *
 * <p>What is read is not held: the writer may give its slot to a later segment meanwhile, in another process too.
 * Nothing wrong comes out of that. Each record is checked against its place, lap and epoch; a number or a time that was
 * found counts only if its segment was still retained afterwards; and a call that has lost a segment looks at the range
 * anew.
 */
final class Browser implements Closeable {
    private static final int TRIES = 4;
    private static final String NOT_THERE = "a record that is not retained any more, or not there yet";

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
    record Place(long offset, long position) {
    }

    private final LogReaderV2 reader;
    private final Source source;
    private final Geometry geometry;
    private final LogSearch search;
    private final ReentrantLock lock = new ReentrantLock();
    private byte[] scratch = new byte[0];
    private boolean closed;

    /** The log's bounds, as they were when the attempt began: positions, and the first segment that was retained. */
    private long head;
    private long end;
    private long lowest;
    /** Records that the call under way has handed out. */
    private int handed;

    /**
     * A browser with nothing in its memory.
     *
     * @param reader its own
     */
    Browser(LogReaderV2 reader, Source source) {
        this.reader = reader;
        this.source = source;
        this.geometry = reader.geometry;
        this.search = new LogSearch(reader, this::checkRetained);
    }

    // ---- what it does

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
    List<Message> get(long offset, int count, long maxBytes) {
        List<Message> messages = new ArrayList<>(Math.min(count < 1 ? 0 : count, 16));
        get(offset, count, maxBytes, new Sink() {
            @Override
            public byte[] room(int length) {
                return new byte[length];
            }

            @Override
            public void take(long number, long timestamp, byte[] data, int length) {
                messages.add(new Message(number, timestamp, data, 0));
            }
        });
        return messages;
    }

    /**
     * Reads records without an allocation for each.
     *
     * @param offset the first one's number
     * @param count the most records
     * @param maxBytes the most bytes of payload; a first record that is larger is read all the same
     * @param handler is called with each record, in order; must not call this browser
     * @return how many there were, at least one
     * @throws OutOfRangeException when the first one is not retained any more, or not there yet
     * @throws CorruptException when the first one is damaged
     */
    int get(long offset, int count, long maxBytes, MessageHandler handler) {
        return get(offset, count, maxBytes, new Sink() {
            @Override
            public byte[] room(int length) {
                if (scratch.length < length) {
                    scratch = new byte[Math.max(length, 2 * scratch.length)];
                }
                return scratch;
            }

            @Override
            public void take(long number, long timestamp, byte[] data, int length) {
                handler.onMessage(number, timestamp, data, 0, length, 0);
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
    OptionalLong find(long micros) {
        Place place = placeOfTime(micros);
        return place == null ? OptionalLong.empty() : OptionalLong.of(place.offset());
    }

    /** The number of the oldest record that is retained; {@link #endOffset} when none is. */
    long firstOffset() {
        return call(this::first);
    }

    /** Where the oldest record that is retained begins; the log's end when none is. */
    Place locateFirst() {
        return call(() -> end > head && goTo(numberAt(head)) ? placeOfReader() : new Place(next(), end));
    }

    /** The number that the next record gets, found in the log: another process may be the one that writes. */
    long endOffset() {
        return call(this::next);
    }

    /**
     * Where a record begins.
     *
     * @param offset its number; the one of the record to come is the log's end
     * @throws OutOfRangeException when it is not retained any more, or not there yet
     */
    Place locate(long offset) {
        return call(() -> {
            if (goTo(offset)) {
                return placeOfReader();
            }
            if (offset == next()) {
                return new Place(offset, end);
            }
            throw outOfRange(offset);
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
        return place != null ? place : call(() -> new Place(next(), end));
    }

    /**
     * The number of the record that begins behind a position.
     *
     * @throws CorruptException when no record ends there
     * @throws MmapQueueException when it is not retained any more, or not there yet
     */
    long offsetAt(long position) {
        return call(() -> {
            long oldest = geometry.position(Math.max(0, firstRetained()), 0);
            if (position < oldest && position != 0 || position > end) {
                throw new MmapQueueException("position " + position + " is out of range; available: " + oldest + ".."
                        + end);
            }
            return numberAt(position);
        });
    }

    /** Waits for the call that is under way and lets no other one begin. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    // ---- one attempt, between the bounds that it has begun with

    private interface Sink {
        byte[] room(int length);

        void take(long number, long timestamp, byte[] data, int length);
    }

    private int get(long offset, int count, long maxBytes, Sink sink) {
        if (count < 1 || maxBytes < 1) {
            throw new IllegalArgumentException("count = " + count + ", maxBytes = " + maxBytes
                    + "; both must be at least 1");
        }
        return call(() -> {
            if (!goTo(offset)) {
                throw outOfRange(offset);
            }
            long bytes = 0;
            while (handed < count) {
                byte[] data = read(maxBytes - bytes, sink);
                if (data == null) {
                    break;
                }
                bytes += reader.length;
                sink.take(offset + handed++, reader.timestamp, data, reader.length);
                reader.advance();
            }
            return handed;
        });
    }

    // The next record, if it is there and not too large. What comes behind damage is left to the next call.
    private byte[] read(long room, Sink sink) throws IOException {
        try {
            if (reader.position() >= end || !reader.next() || handed > 0 && reader.length > room) {
                return null;
            }
            byte[] data = sink.room(reader.length);
            reader.read(data);
            return data;
        } catch (CorruptException e) {
            if (handed > 0) {
                return null;
            }
            throw e;
        }
    }

    private boolean goTo(long offset) throws IOException {
        if (offset < 0 || end <= head) {
            return false;
        }
        long low = geometry.segmentOf(head);
        long id = search.segmentOfNumber(offset, low, geometry.segmentOfEnd(end));
        return id >= low && search.toNumber(id, offset, endIn(id)) && reader.position() >= head;
    }

    private Place placeOfTime(long micros) {
        if (!source.timestamps()) {
            throw new ConfigException("timestamps", "false", "true, where records are to be found by their time");
        }
        return call(() -> goToTime(Math.max(0, micros)) ? placeOfReader() : null);
    }

    private boolean goToTime(long micros) throws IOException {
        if (end <= head) {
            return false;
        }
        long low = geometry.segmentOf(head);
        long high = geometry.segmentOfEnd(end);
        long id = search.segmentOfTime(micros, low, high);
        if (id >= low) {
            if (!search.toTime(id, micros, endIn(id))) {
                // The next segment may begin with a later time than the last record before it has.
                return id < high && goTo(search.baseIndex(id + 1));
            }
            if (reader.position() >= head) {
                return true;
            }
        }
        return goTo(numberAt(head));
    }

    private Place placeOfReader() {
        int start = reader.offset == geometry.dataStart() ? 0 : reader.offset;
        return new Place(search.number(), geometry.position(reader.segmentId, start));
    }

    private long first() throws IOException {
        return end <= head ? next() : numberAt(head);
    }

    private long next() throws IOException {
        return numberAt(end);
    }

    private long numberAt(long position) throws IOException {
        if (position == 0) {
            return 0;
        }
        long id = geometry.segmentOfEnd(position);
        int offset = geometry.offsetOfEnd(position);
        if (offset == geometry.segmentSize() && end > position) {
            return search.baseIndex(id + 1);
        }
        search.toOffset(id, offset);
        return search.number();
    }

    private int endIn(long id) {
        return id == geometry.segmentOfEnd(end) ? geometry.offsetOfEnd(end) : geometry.segmentSize();
    }

    private OutOfRangeException outOfRange(long offset) throws IOException {
        return new OutOfRangeException(NOT_THERE, offset, first(), next() - 1);
    }

    // ---- attempts

    private interface Attempt<T> {
        T run() throws IOException;
    }

    private <T> T call(Attempt<T> attempt) {
        if (lock.isHeldByCurrentThread()) {
            throw new IllegalStateException("a message handler must not read in the queue that called it");
        }
        lock.lock();
        try {
            handed = 0;
            int tries = 1;
            while (true) {
                checkOpen();
                look();
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
        } finally {
            lock.unlock();
        }
    }

    // A segment that was lost while it was read is no damage, and lies before the bounds of the next attempt. That one
    // can lose a segment only when the writer has gone on by one more: there is no end to it only if there is none to
    // the writer's haste.
    private int triesAfter(CorruptException e, int tries) {
        long lost = search.segment();
        if (handed == 0 && lost >= lowest && lost < firstRetained()) {
            search.forget(lost);
            return tries;
        }
        if (handed > 0 || tries == TRIES) {
            throw e;
        }
        search.forgetAll();
        return tries + 1;
    }

    private void checkOpen() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
    }

    // The end comes last: it only grows, so it is not before the others.
    private void look() {
        long reclaimed = source.reclaimed();
        long oldest = source.head();
        end = source.end();
        head = Math.max(oldest, geometry.position(geometry.segmentOf(reclaimed), 0));
        lowest = firstRetained(reclaimed, end);
    }

    private long firstRetained() {
        return firstRetained(source.reclaimed(), source.end());
    }

    // The writer's own segment holds what it holds, though all of it may be acked.
    private long firstRetained(long reclaimed, long written) {
        return Math.min(geometry.segmentOf(reclaimed), geometry.segmentOfEnd(written));
    }

    private void checkRetained(long id) {
        VarHandle.acquireFence(); // what was read before this was read before the bounds are
        if (id < firstRetained()) {
            throw new CorruptException(geometry.fileName(id), 0, "segment " + id + " is not retained any more");
        }
    }
}
