package org.mmapqueue.bench.roofline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.bench.Shape;

/**
 * A ring of mapped segments with the least that a checked record needs: the payload copied, CRC32C over the heap bytes,
 * and one 8-byte header stored last, with release semantics; on the way out a copy to the heap and the checksum again.
 * The segments, their number and how many may be mapped are those of the queue it stands beside. With a flusher on it
 * fsyncs what was written and not yet let go of, as often as the queue does.
 */
public final class Ring implements Subject {
    /** Where the records of a segment start, as in the queue's segments. */
    static final int FIRST_RECORD = 64;

    private final Slots slots;
    private final Positions positions = new Positions();
    private final Preallocator preallocator;
    private final int segmentBytes;
    private final int payload;
    private final Syncer syncer;
    private boolean hasWriter;
    private boolean hasReader;

    /**
     * Makes the files in {@code directory} and the first segments ready.
     *
     * @param flushed whether a flusher runs as well
     */
    public Ring(Path directory, Shape shape, boolean flushed) throws IOException {
        segmentBytes = shape.segmentBytes();
        payload = shape.payload();
        slots = new Slots(directory, segmentBytes, shape.capacity());
        preallocator = new Preallocator(slots, positions, segmentBytes, shape.mapped());
        preallocator.start();
        syncer = flushed ? new Syncer(slots, positions, segmentBytes, (long) shape.ceiling() * stored(payload)) : null;
        if (syncer != null) {
            syncer.start();
        }
    }

    @Override
    public Writer writer() {
        if (hasWriter) {
            throw new UnsupportedOperationException("the ring has one writer");
        }
        hasWriter = true;
        return new RingWriter(this, syncer != null);
    }

    @Override
    public Reader reader() {
        if (hasReader) {
            throw new UnsupportedOperationException("the ring has one reader");
        }
        hasReader = true;
        return new RingReader(this, payload);
    }

    @Override
    public void close() throws IOException {
        if (syncer != null) {
            syncer.stop();
        }
        preallocator.stop();
        slots.close();
    }

    int segmentBytes() {
        return segmentBytes;
    }

    Positions positions() {
        return positions;
    }

    ByteBuffer mapping(long id) {
        return slots.mapping((int) (id % slots.count()));
    }

    void wakeIfNeeded() {
        preallocator.wakeIfNeeded();
    }

    static int stored(int length) {
        return 8 + (length + 7 & ~7);
    }
}
