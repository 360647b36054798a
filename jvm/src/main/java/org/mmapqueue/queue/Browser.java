package org.mmapqueue.queue;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.LongStream;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.StackRoom;
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
    private final RetainedLog log;
    private final ReentrantLock lock = new ReentrantLock();
    private byte[] scratch = new byte[0];
    private boolean closed;

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
        this.log = new RetainedLog(reader, source);
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
        get(offset, count, maxBytes, new RecordSink() {
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
        return get(offset, count, maxBytes, new RecordSink() {
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
    Place locate(long offset) {
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
        return call(() -> {
            long oldest = geometry.position(Math.max(0, log.firstRetained()), 0);
            if (position < oldest && position != 0) {
                throw new MmapQueueException("position " + position + " is not retained any more; the oldest is "
                        + oldest);
            }
            return log.numberAt(position);
        });
    }

    /**
     * Returns when a record is retained, or is the one to come.
     *
     * @throws OutOfRangeException when it is not
     */
    void checkRetained(long offset) {
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
    long bytes(long from, long to) {
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
    long[] split(long from, long to, long bytes) {
        return call(() -> {
            LongStream.Builder bounds = LongStream.builder().add(from);
            long last = from;
            long end = log.estimate(to);
            long at = log.estimate(from);
            while (bytes < end - at) { // so that no sum overflows
                at += bytes;
                long bound = log.numberNear(at, bytes < geometry.segmentSize());
                if (bound > last && bound < to) {
                    bounds.add(bound);
                    last = bound;
                }
            }
            return bounds.add(to).build().toArray();
        });
    }

    /** Waits for the call that is under way and lets no other one begin. */
    @Override
    public void close() {
        StackRoom.ensure();
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
    }

    // ---- one attempt, between the bounds that it has begun with

    private int get(long offset, int count, long maxBytes, RecordSink sink) {
        if (count < 1 || maxBytes < 1) {
            throw new IllegalArgumentException("count = " + count + ", maxBytes = " + maxBytes
                    + "; both must be at least 1");
        }
        return call(() -> {
            if (!log.goTo(offset)) {
                throw log.outOfRange(offset);
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
    private byte[] read(long room, RecordSink sink) throws IOException {
        try {
            if (reader.position() >= log.end() || !reader.next() || handed > 0 && reader.length > room) {
                return null;
            }
            if (reader.lost) {
                if (handed > 0) {
                    return null;
                }
                throw new OutOfRangeException("a record that was lost, and marked so by a repair", log.number(),
                        log.first(), log.next() - 1);
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

    private Place placeOfTime(long micros) {
        if (!source.timestamps()) {
            throw new ConfigException("timestamps", "false", "true, where records are to be found by their time");
        }
        return call(() -> log.goToTime(Math.max(0, micros)) ? log.place() : null);
    }

    // ---- attempts

    private interface Attempt<T> {
        T run() throws IOException;
    }

    private <T> T call(Attempt<T> attempt) {
        if (lock.isHeldByCurrentThread()) {
            throw new IllegalStateException("a message handler must not read in the queue that called it");
        }
        StackRoom.ensure();
        lock.lock();
        try {
            handed = 0;
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
            throw TruncatedFiles.explain(e, reader.swapper.ring());
        } finally {
            lock.unlock();
        }
    }

    // A segment that was lost while it was read is no damage, and lies before the bounds of the next attempt. That one
    // can lose a segment only when the writer has gone on by one more: there is no end to it only if there is none to
    // the writer's haste.
    private int triesAfter(CorruptException e, int tries) {
        if (handed == 0 && log.isLost()) {
            log.forgetLast();
            return tries;
        }
        if (handed > 0 || tries == TRIES) {
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
