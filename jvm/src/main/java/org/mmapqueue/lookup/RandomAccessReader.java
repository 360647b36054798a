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
import org.mmapqueue.log.BatchDelivery;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.RecordBatch;
import org.mmapqueue.log.TruncatedFiles;

/**
 * Reads records by offset or timestamp in format version 2, and moves no consumer. Safe for any number of threads; a
 * lock admits one read at a time. A call pins at most two segments, and none stays pinned between calls, so the writer
 * can always map its own.
 *
 * <p>A writer, also of another process, may overwrite a segment while it is read. A wrong record is never returned:
 * each record is checked against its position, generation and epoch; an offset or a timestamp counts only if its
 * segment is still retained after the search; a call that has lost its segment starts again with new bounds.
 */
public final class RandomAccessReader implements Closeable {
    private static final int TRIES = 4;

    /** The bounds of the log, loaded at each call. */
    interface Source {
        /** The log start: the end of a record or of a segment, after which the oldest retained record begins. */
        long head();

        /** Segments before this position may be overwritten at any time. */
        long reclaimed();

        /** The log end: records before this position are published. */
        long end();

        /** Whether records get timestamps. */
        boolean timestamps();
    }

    /** The offset of a record, and the position after which the record begins. */
    public record OffsetPosition(long offset, long position) {}

    private final LogReaderV2 reader;
    private final Source source;
    private final RetainedLog log;
    private final ReentrantLock lock = new ReentrantLock();
    /** A random read moves no position, so nothing is restored when a handler throws. */
    private final BatchDelivery delivery = new BatchDelivery(this::fetch, batch -> {});

    private volatile boolean closed;

    /**
     * Starts with empty indexes.
     *
     * @param reader a reader that nothing else uses
     */
    RandomAccessReader(LogReaderV2 reader, Source source) {
        this.reader = reader;
        this.source = source;
        this.log = new RetainedLog(reader, source);
    }

    /**
     * As {@code RandomAccess.getMany}, with a limit of payload bytes.
     *
     * @throws OutOfRangeException if the first record is not retained or does not exist yet
     * @throws CorruptException if the first record is damaged
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

    /** As {@link #get(long, int, long)}, by a handler, which is called without the lock. */
    public int get(long offset, int count, long maxBytes, MessageHandler handler) {
        return get(offset, count, maxBytes, false, handler);
    }

    private int get(long offset, int count, long maxBytes, boolean own, MessageHandler handler) {
        if (count < 1 || maxBytes < 1) {
            throw new IllegalArgumentException(
                    "count = " + count + ", maxBytes = " + maxBytes + "; both must be at least 1");
        }
        return delivery.deliver(offset, count, maxBytes, own, handler);
    }

    // An error after the first batch is left to the next call, which throws it.
    private RecordBatch fetch(long offset, int count, long maxBytes, boolean own, boolean first) {
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
            if (!log.goTo(offset) || log.offset() != offset) {
                throw log.missing(offset);
            }
            RecordBatch batch = delivery.take(0, maxBytes, own, first, RecordBatch.MOST_BYTES);
            try {
                while (batch.count() < count
                        && isNext(offset + batch.count())
                        && batch.read(reader, reader.nextOffset())) {
                    reader.advance();
                }
                if (first && batch.count() == 0) {
                    throw log.outOfRange(offset); // the segment is not published yet
                }
            } catch (IOException | RuntimeException | Error e) {
                if (batch.count() == 0) {
                    delivery.put(batch);
                    throw e;
                }
            }
            batch.next(offset + batch.count());
            return batch;
        });
    }

    /**
     * As {@code RandomAccess.find}.
     *
     * @param micros the time, in µs since 1970
     */
    public OptionalLong find(long micros) {
        OffsetPosition found = positionOfTime(micros);
        return found == null ? OptionalLong.empty() : OptionalLong.of(found.offset());
    }

    /** The offset of the oldest retained record; {@link #endOffset} if no record is retained. */
    public long firstOffset() {
        return call(log::first);
    }

    /** Offset and position of the log end. */
    OffsetPosition locateEnd() {
        return call(() -> new OffsetPosition(log.next(), log.end()));
    }

    /** Offset and position of the oldest retained record; those of the log end if no record is retained. */
    OffsetPosition locateFirst() {
        return call(() -> log.goTo(log.first()) ? log.found() : new OffsetPosition(log.next(), log.end()));
    }

    /** The offset of the next record, read from the log, since another process may be the writer. */
    long endOffset() {
        return call(log::next);
    }

    /**
     * Finds the position of a record.
     *
     * @param offset the record's offset; a lost one gives the first record after it, and the offset of the next record
     *     the log end
     * @throws OutOfRangeException if the record is not retained or does not exist yet
     */
    public OffsetPosition locate(long offset) {
        return call(() -> {
            if (log.goTo(offset)) {
                return log.found();
            }
            if (log.isInRange(offset)) {
                return new OffsetPosition(log.next(), log.end());
            }
            throw log.outOfRange(offset);
        });
    }

    /**
     * Finds the first record that was pushed at a time or later; the log end if no such record exists.
     *
     * @param micros the time, in µs since 1970
     * @throws ConfigException if the queue stores no timestamps
     */
    OffsetPosition locateTime(long micros) {
        OffsetPosition found = positionOfTime(micros);
        return found != null ? found : locateEnd();
    }

    /**
     * Returns the offset of the record that begins after a position. The position may be beyond {@link Source#end}: a
     * record can be popped and acked before the writer has stored the new end.
     *
     * @throws CorruptException if no record ends there
     * @throws MmapQueueException if the position is not retained any more
     */
    long offsetAt(long position) {
        return call(() -> log.retainedOffsetAt(position));
    }

    /** The offset after the last record that ends at or before a position; at least {@link #firstOffset}. */
    long offsetUpTo(long position) {
        return call(() -> log.offsetUpTo(position));
    }

    /** The log start: the position after which the oldest retained record begins. */
    long start() {
        return call(log::start);
    }

    /** The exception for a record that looks damaged: OutOfRangeException if it was overwritten while it was read. */
    RuntimeException lostOr(long offset, CorruptException damage) {
        try {
            return call(() -> log.isInRange(offset) ? damage : log.outOfRange(offset));
        } catch (CorruptException e) {
            return damage; // which may hide the offset of the log start, too
        }
    }

    /**
     * As {@code RandomAccess.bytes}. Exact for records that begin a segment.
     *
     * @throws OutOfRangeException if a record is not retained or does not exist yet
     */
    public long bytes(long from, long to) {
        return call(() -> log.estimate(to) - log.estimate(from));
    }

    /**
     * As {@code RandomAccess.split}.
     *
     * @throws OutOfRangeException if a record is not retained or does not exist yet
     */
    public long[] split(long from, long to, long bytes) {
        return call(() -> log.split(from, to, bytes));
    }

    /** Waits for the running call; later calls throw ClosedException. */
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

    // ---- one attempt, with bounds that are loaded at its start

    // Whether the next record, before the log end, has this offset; not if a gap is there.
    private boolean isNext(long offset) throws IOException {
        return reader.position() < log.end() && reader.next() && reader.nextOffset() == offset;
    }

    private OffsetPosition positionOfTime(long micros) {
        if (!source.timestamps()) {
            throw new ConfigException("timestamps", "false", "true, where records are to be found by their time");
        }
        return call(() -> log.goToTime(Math.max(0, micros)) ? log.found() : null);
    }

    private interface Attempt<T> {
        T run() throws IOException;
    }

    private <T> T call(Attempt<T> attempt) {
        StackRoom.lockForRead(lock); // the swapper checks for more room before it maps
        try {
            int tries = 1;
            while (true) {
                if (closed) {
                    throw new ClosedException("the queue is closed");
                }
                log.look();
                try {
                    return attempt.run();
                } catch (CorruptException e) {
                    // A segment that was overwritten while it was read is not damaged, and is before the next bounds:
                    // such a retry fails only if the writer has advanced by another segment.
                    if (log.isLost()) {
                        log.forgetLast();
                    } else if (tries++ == TRIES) {
                        throw e;
                    } else {
                        log.forgetAll();
                    }
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
}
