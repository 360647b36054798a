package org.mmapqueue.segment;

import java.util.zip.CRC32C;
import org.mmapqueue.io.Mapped;

/**
 * The checksum of a record: CRC32C of the payload, then of the record's identity. So a record of another queue,
 * position, generation or epoch fails the check:
 *
 * <pre>
 *  0  queue UUID (16)
 * 16  segment id (8)
 * 24  epoch (8)
 * 32  offset in the segment (4)
 * 36  length and flags (4)
 * 40  timestamp (8), 0 when there is none
 * </pre>
 *
 * <p>The appender computes the payload's part before it locks the log end. Not thread-safe.
 */
public final class RecordChecksum {
    private static final int SEGMENT_ID = 16;
    private static final int EPOCH = 24;
    private static final int OFFSET = 32;
    private static final int TIMESTAMP = 40;
    private static final int BYTES = 48;

    private final byte[] identity = new byte[BYTES];

    /** Computes checksums for the records of one queue. */
    public RecordChecksum(long uuidHigh, long uuidLow) {
        Mapped.ARRAY_LONG.set(identity, 0, uuidHigh);
        Mapped.ARRAY_LONG.set(identity, 8, uuidLow);
    }

    /**
     * Completes a checksum.
     *
     * @param crc has been run over the payload
     * @return the checksum as it is stored, never 0
     */
    public int finish(CRC32C crc, long segmentId, long epoch, int offset, int lengthAndFlags, long timestamp) {
        byte[] bytes = identity;
        Mapped.ARRAY_LONG.set(bytes, SEGMENT_ID, segmentId);
        Mapped.ARRAY_LONG.set(bytes, EPOCH, epoch);
        // One 8-byte store, as the checksum reads one word: a load that spans two stores would wait for both to
        // leave the store buffer.
        Mapped.ARRAY_LONG.set(bytes, OFFSET, (long) lengthAndFlags << 32 | offset);
        Mapped.ARRAY_LONG.set(bytes, TIMESTAMP, timestamp);
        crc.update(bytes, 0, BYTES);
        int value = (int) crc.getValue();
        return value == 0 ? 0xFFFF_FFFF : value;
    }

    /** The header of a pad that is valid in this epoch. */
    public long padHeader(long segmentId, long epoch, int offset) {
        return headerWithoutPayload(
                segmentId, epoch, offset, RecordDescriptor.PAD | RecordDescriptor.length((int) epoch));
    }

    /** The header of a tombstone that covers this number of bytes after it. */
    public long tombstoneHeader(long segmentId, long epoch, int offset, int body) {
        return headerWithoutPayload(segmentId, epoch, offset, RecordDescriptor.CONTROL | body);
    }

    private long headerWithoutPayload(long segmentId, long epoch, int offset, int lengthAndFlags) {
        int checksum = finish(new CRC32C(), segmentId, epoch, offset, lengthAndFlags, 0);
        return RecordDescriptor.header(lengthAndFlags, checksum);
    }
}
