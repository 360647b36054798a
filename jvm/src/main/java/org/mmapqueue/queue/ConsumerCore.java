package org.mmapqueue.queue;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.segment.Geometry;

/**
 * One consumer in the process that owns it. Any number of threads; the claim lets one at a time move the reading
 * position, and each record goes to one of them.
 */
final class ConsumerCore implements Closeable {
    private final String name;
    private final ConsumerCursors cursors;
    private final LogReader reader;
    private final LogReader walker;
    private final Closeable ownership;
    private final Geometry geometry;
    private final Claim claim = new Claim();
    private final InFlight inFlight = new InFlight();
    private final AtomicLong readOffset = new AtomicLong();
    private final AtomicLong committedOffset = new AtomicLong();
    private byte[] scratch = new byte[0];
    private boolean closed;

    /**
     * A consumer that stands at its committed position.
     *
     * @param reader where it reads; stands nowhere yet
     * @param walker a second reader, for acks in the middle of what was popped
     * @param offset the offset of the first record that is not acked
     * @param ownership closed with the consumer
     */
    ConsumerCore(String name, ConsumerCursors cursors, LogReader reader, LogReader walker, long offset,
            Closeable ownership) {
        this.name = name;
        this.cursors = cursors;
        this.reader = reader;
        this.walker = walker;
        this.ownership = ownership;
        this.geometry = reader.geometry;
        long committed = cursors.committed();
        cursors.reading(committed);
        reader.moveTo(committed);
        readOffset.set(offset);
        committedOffset.set(offset);
        inFlight.reset(offset, committed);
    }

    String name() {
        return name;
    }

    long readOffset() {
        return readOffset.get();
    }

    long committedOffset() {
        return committedOffset.get();
    }

    Message poll() {
        claim.enter();
        try {
            if (!next()) {
                return null;
            }
            Message message = read();
            step();
            return message;
        } catch (IOException e) {
            throw failed(e);
        } finally {
            claim.exit();
        }
    }

    Message peek() {
        claim.enter();
        try {
            return next() ? read() : null;
        } catch (IOException e) {
            throw failed(e);
        } finally {
            claim.exit();
        }
    }

    /** Pops what is there, at most {@code maxRecords} and {@code maxBytes}, at least one when there is one. */
    int poll(int maxRecords, long maxBytes, MessageHandler handler) {
        int count = 0;
        claim.enter();
        try {
            long bytes = 0;
            while (count < maxRecords && next()) {
                int length = reader.length;
                bytes += length;
                if (count > 0 && bytes > maxBytes) {
                    break;
                }
                if (scratch.length < length) {
                    scratch = new byte[Math.max(length, 2 * scratch.length)];
                }
                reader.read(scratch);
                handler.onMessage(readOffset.getPlain(), reader.timestamp, scratch, 0, length);
                step();
                count++;
            }
            return count;
        } catch (CorruptException e) {
            if (count > 0) {
                return count; // the next call raises it; what the handler has got is popped
            }
            throw e;
        } catch (IOException e) {
            throw failed(e);
        } finally {
            claim.exit();
        }
    }

    /** Whether a pop would find something; any thread, no effect. */
    boolean hasNext() {
        claim.enter();
        try {
            return closed || reader.next();
        } catch (IOException | RuntimeException e) {
            return true; // the pop that follows raises it
        } finally {
            claim.exit();
        }
    }

    /** Everything up to {@code offset} has been dealt with. True when that gives a segment free. */
    boolean ack(long offset) {
        claim.enter();
        try {
            checkOpen();
            long committed = committedOffset.getPlain();
            long read = readOffset.getPlain();
            if (offset < 0 || offset >= read) {
                throw new OutOfRangeException("ack by consumer " + name + " of a record that it has not popped", offset,
                        committed, read - 1);
            }
            if (offset < committed) {
                return false;
            }
            long position = offset + 1 == read ? reader.position() : endOf(offset);
            boolean frees = geometry.segmentOf(position) != geometry.segmentOf(cursors.committed());
            if (position > cursors.reading()) {
                cursors.reading(position); // the reader has passed a pad since the last record
            }
            cursors.committed(position);
            committedOffset.lazySet(offset + 1);
            inFlight.acked(offset + 1, position);
            return frees;
        } catch (IOException e) {
            throw failed(e);
        } finally {
            claim.exit();
        }
    }

    private long endOf(long offset) throws IOException {
        long at = inFlight.floorOffset(offset);
        walker.moveTo(inFlight.floorPosition(offset));
        try {
            for (; at <= offset; at++) {
                walker.next();
                walker.skip();
                walker.advance();
            }
            return walker.position();
        } finally {
            walker.leave();
        }
    }

    private boolean next() throws IOException {
        checkOpen();
        return reader.next();
    }

    private Message read() throws IOException {
        byte[] data = new byte[reader.length];
        reader.read(data);
        return new Message(readOffset.getPlain(), reader.timestamp, data, 1);
    }

    private void step() {
        reader.advance();
        long next = readOffset.getPlain() + 1;
        readOffset.lazySet(next);
        long position = reader.position();
        cursors.reading(position);
        inFlight.popped(next, position);
    }

    private void checkOpen() {
        if (closed) {
            throw new ClosedException("the queue, or its consumer " + name + ", is closed");
        }
    }

    private MmapQueueException failed(IOException e) {
        return new MmapQueueException("consumer " + name + " could not read on: " + e, e);
    }

    /** Waits for the call that is under way and lets no other one begin. */
    @Override
    public void close() throws IOException {
        claim.enter();
        try {
            if (!closed) {
                closed = true;
                reader.leave();
                walker.leave();
                ownership.close();
            }
        } finally {
            claim.exit();
        }
    }
}
