package org.mmapqueue.segment;

import java.util.UUID;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mapped;

/**
 * The checksum of a record: CRC32C of the payload, then of the record's identity:
 *
 * <pre>
 *  0  queue UUID (16)
 * 16  offset (8)
 * 24  timestamp, µs since 1970 (8); 0 when there is none
 * 32  length and flags (8)
 * </pre>
 *
 * <p>It covers what the record is, not its place: the record has the same checksum in each copy. An older record at the
 * same byte has a lower offset, and fails the check. The appender computes the payload's part before it locks the log
 * end. Not thread-safe.
 */
public final class RecordChecksum {
    private static final int OFFSET = 16;
    private static final int TIMESTAMP = 24;
    private static final int FLAGS = 32;
    private static final int BYTES = 40;

    /** A pad has no offset: its identity is its place, and the epoch of the recovery that wrote it. */
    private static final int PAD_SEGMENT = 16;

    private static final int PAD_EPOCH = 24;
    private static final int PAD_BYTE = 32;
    private static final int PAD_FLAGS = 36;

    private final byte[] identity = new byte[BYTES];

    /** Computes checksums for the records of one queue. */
    public RecordChecksum(UUID queue) {
        Mapped.ARRAY_LONG.set(identity, 0, queue.getMostSignificantBits());
        Mapped.ARRAY_LONG.set(identity, 8, queue.getLeastSignificantBits());
    }

    /**
     * Completes a checksum.
     *
     * @param crc has been run over the payload
     * @param timestamp in µs since 1970; 0 for none
     * @return the checksum as it is stored, never 0
     */
    public int finish(CRC32C crc, long offset, long timestamp, int lengthAndFlags) {
        byte[] bytes = identity;
        Mapped.ARRAY_LONG.set(bytes, OFFSET, offset);
        Mapped.ARRAY_LONG.set(bytes, TIMESTAMP, timestamp);
        Mapped.ARRAY_LONG.set(bytes, FLAGS, lengthAndFlags & 0xFFFF_FFFFL);
        return finish(crc);
    }

    /** The checksum of a pad that is valid in this epoch. */
    public int ofPad(long segmentId, long epoch, int at, int lengthAndFlags) {
        byte[] bytes = identity;
        Mapped.ARRAY_LONG.set(bytes, PAD_SEGMENT, segmentId);
        Mapped.ARRAY_LONG.set(bytes, PAD_EPOCH, epoch);
        Mapped.ARRAY_INT.set(bytes, PAD_BYTE, at);
        Mapped.ARRAY_INT.set(bytes, PAD_FLAGS, lengthAndFlags);
        return finish(new CRC32C());
    }

    private int finish(CRC32C crc) {
        crc.update(identity, 0, BYTES);
        int value = (int) crc.getValue();
        return value == 0 ? 0xFFFF_FFFF : value;
    }

    /** The header of a pad that is valid in this epoch. */
    public long padHeader(long segmentId, long epoch, int at) {
        int lengthAndFlags = RecordDescriptor.PAD | RecordDescriptor.length((int) epoch);
        return RecordDescriptor.header(lengthAndFlags, ofPad(segmentId, epoch, at, lengthAndFlags));
    }

    /**
     * The header of a gap.
     *
     * @param first the offset of the first lost record
     * @param lost the number of lost records, 0 to {@link RecordDescriptor#MAX_LOST}
     * @param body bytes that the gap covers after its header, the second word included; a multiple of 8
     */
    public long gapHeader(long first, long lost, int body) {
        int lengthAndFlags = RecordDescriptor.CONTROL | body - Long.BYTES;
        return RecordDescriptor.header(lengthAndFlags, finish(new CRC32C(), first, lost, lengthAndFlags));
    }
}
