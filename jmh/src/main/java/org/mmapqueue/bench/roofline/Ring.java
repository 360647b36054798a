package org.mmapqueue.bench.roofline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;

/**
 * A ring of mapped segments with the least work for a checked record. A push copies the payload, computes the CRC32C over
 * the heap bytes, and stores one 8-byte header last, with release semantics. A pop copies to the heap and computes the
 * checksum again. The shape is that of the queue that it is compared with. With a flusher, it fsyncs all written and
 * unacked bytes as often as the queue does.
 */
public final class Ring implements Subject {
    /** Position of the first record in a segment, as in the queue's segments. */
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
     * Makes the files in {@code directory} and preallocates the first segments.
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
