package org.mmapqueue.bench.roofline;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.io.Mapped;

/** Appends to a {@link Ring}. Rolls if a record does not fit into the rest of a segment. */
final class RingWriter implements Subject.Writer {
    private final Ring ring;
    private final Positions positions;
    private final CRC32C crc = new CRC32C();
    private final int segmentBytes;
    private final boolean flushed;
    private ByteBuffer segment;
    private long id;
    private int position = Ring.FIRST_RECORD;

    RingWriter(Ring ring, boolean flushed) {
        this.flushed = flushed;
        this.ring = ring;
        this.positions = ring.positions();
        this.segmentBytes = ring.segmentBytes();
        this.segment = ring.mapping(0);
    }

    @Override
    public boolean push(byte[] record) {
        int length = record.length;
        int stored = Ring.stored(length);
        if (position + stored > segmentBytes && !advance()) {
            return false;
        }
        int at = position;
        crc.reset();
        crc.update(record, 0, length);
        segment.put(at + 8, record, 0, length);
        Mapped.LONG.setRelease(segment, at, crc.getValue() << 32 | length);
        position = at + stored;
        if (flushed) {
            positions.set(Positions.WRITTEN, id * segmentBytes + position);
        }
        return true;
    }

    private boolean advance() {
        long next = id + 1;
        if (positions.get(Positions.PREALLOCATED) <= next) {
            ring.wakeIfNeeded();
            return false;
        }
        id = next;
        segment = ring.mapping(next);
        position = Ring.FIRST_RECORD;
        positions.set(Positions.WRITER, next);
        ring.wakeIfNeeded();
        return true;
    }
}
