package org.mmapqueue.bench.roofline;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.io.Mapped;

/** Reads a {@link Ring}: copies each record to the heap and verifies its checksum. */
final class RingReader implements Subject.Reader {
    private final Ring ring;
    private final Positions positions;
    private final CRC32C crc = new CRC32C();
    private final byte[] heap;
    private final int segmentBytes;
    private ByteBuffer segment;
    private long id;
    private int position = Ring.FIRST_RECORD;

    RingReader(Ring ring, int payload) {
        this.ring = ring;
        this.positions = ring.positions();
        this.segmentBytes = ring.segmentBytes();
        this.heap = new byte[payload];
    }

    @Override
    public boolean pop() {
        long header = header();
        if (header == 0) {
            header = headerOfNext();
            if (header == 0) {
                return false;
            }
        }
        int at = position;
        int length = (int) header;
        segment.get(at + 8, heap, 0, length);
        crc.reset();
        crc.update(heap, 0, length);
        if ((int) crc.getValue() != (int) (header >>> 32)) {
            throw new IllegalStateException("bad checksum in segment " + id + " at " + at);
        }
        position = at + Ring.stored(length);
        return true;
    }

    @Override
    public void ack() {
        positions.set(Positions.LOW_WATERMARK, id);
    }

    private long header() {
        if (segment == null || position + 8 > segmentBytes) {
            return 0;
        }
        return (long) Mapped.LONG.getAcquire(segment, position);
    }

    private long headerOfNext() {
        if (segment == null) {
            // The first segment may not be mapped yet.
            if (positions.get(Positions.READABLE) <= id) {
                return 0;
            }
            segment = ring.mapping(id);
            return header();
        }
        if (positions.get(Positions.WRITER) <= id) {
            return 0;
        }
        // The writer has rolled, so its last records in this segment are visible now.
        long header = header();
        if (header != 0) {
            return header;
        }
        if (positions.get(Positions.READABLE) <= id + 1) {
            ring.wakeIfNeeded();
            return 0;
        }
        id++;
        segment = ring.mapping(id);
        position = Ring.FIRST_RECORD;
        positions.set(Positions.READER, id);
        ring.wakeIfNeeded();
        return header();
    }
}
