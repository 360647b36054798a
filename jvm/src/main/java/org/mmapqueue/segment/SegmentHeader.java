package org.mmapqueue.segment;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Mismatch;

/**
 * The header of a segment of version 2 as a value, for code that reads files without mapping them.
 *
 * @param uuidLow the queue's UUID, lower half
 * @param epoch in which the header was written
 * @param baseIndex the offset of the first record that starts in the segment, or of the next record if none does
 * @param baseTimestamp lower bound of the timestamps of records that start in the segment, in µs since 1970
 * @param firstRecord the byte at which the first record starts; 0 when none starts in the segment
 */
public record SegmentHeader(long uuidLow, long id, long epoch, long baseIndex, long baseTimestamp, int firstRecord) {
    public static final int LENGTH = SegmentDescriptor.LENGTH;

    private static final int VERSION_2 = 2;

    /** Reads a header, unchecked, from index 0 of a little-endian buffer. */
    public static SegmentHeader decode(ByteBuffer bytes) {
        return new SegmentHeader(
                bytes.getLong(SegmentDescriptor.UUID_LOW),
                bytes.getLong(SegmentDescriptor.ID),
                bytes.getLong(SegmentDescriptor.EPOCH),
                bytes.getLong(SegmentDescriptor.BASE_INDEX),
                bytes.getLong(SegmentDescriptor.BASE_TIMESTAMP),
                bytes.getInt(SegmentDescriptor.FIRST_RECORD));
    }

    /** The first fault that the header shows by itself; null when magic, version and checksum are right. */
    public static Mismatch check(ByteBuffer bytes) {
        long magic = bytes.getLong(SegmentDescriptor.MAGIC);
        if (magic != SegmentDescriptor.MAGIC_VALUE) {
            return new Mismatch(
                    SegmentDescriptor.MAGIC,
                    "magic " + Mismatch.hex(magic),
                    Mismatch.hex(SegmentDescriptor.MAGIC_VALUE));
        }
        int found = bytes.getInt(SegmentDescriptor.CHECKSUM);
        if (found != checksum(bytes)) {
            return new Mismatch(
                    SegmentDescriptor.CHECKSUM, "checksum " + Mismatch.hex(found), Mismatch.hex(checksum(bytes)));
        }
        int version = bytes.getInt(SegmentDescriptor.VERSION);
        return version == VERSION_2
                ? null
                : new Mismatch(SegmentDescriptor.VERSION, "version " + version, Integer.toString(VERSION_2));
    }

    /** The first fault of a valid header as that of this segment of this queue; null for none. */
    public Mismatch check(long queueUuidLow, long segmentId, int segmentSize) {
        if (uuidLow != queueUuidLow) {
            return new Mismatch(
                    SegmentDescriptor.UUID_LOW,
                    "a segment of another queue, …" + Long.toHexString(uuidLow),
                    "one of queue …" + Long.toHexString(queueUuidLow));
        }
        if (id != segmentId) {
            return new Mismatch(SegmentDescriptor.ID, "segment id " + id, Long.toString(segmentId));
        }
        boolean inside = firstRecord >= LENGTH && firstRecord < segmentSize && firstRecord % Long.BYTES == 0;
        if (firstRecord != 0 && !inside) {
            return new Mismatch(
                    SegmentDescriptor.FIRST_RECORD,
                    "a first record at " + firstRecord,
                    "0 or a multiple of 8 in " + LENGTH + ".." + (segmentSize - Long.BYTES));
        }
        if (baseIndex < 0 || epoch < 1) {
            return new Mismatch(
                    SegmentDescriptor.EPOCH, "epoch " + epoch + " and base index " + baseIndex, "at least 1 and 0");
        }
        return null;
    }

    /** Whether the header is all zeros: the file was only preallocated, or the header was wiped. */
    public static boolean isEmpty(ByteBuffer bytes) {
        return Mapped.isZero(bytes, 0, LENGTH);
    }

    public ByteBuffer encode() {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(SegmentDescriptor.MAGIC, SegmentDescriptor.MAGIC_VALUE);
        bytes.putInt(SegmentDescriptor.VERSION, VERSION_2);
        bytes.putLong(SegmentDescriptor.UUID_LOW, uuidLow).putLong(SegmentDescriptor.ID, id);
        bytes.putLong(SegmentDescriptor.EPOCH, epoch).putLong(SegmentDescriptor.BASE_INDEX, baseIndex);
        bytes.putLong(SegmentDescriptor.BASE_TIMESTAMP, baseTimestamp);
        bytes.putInt(SegmentDescriptor.FIRST_RECORD, firstRecord);
        return bytes.putInt(SegmentDescriptor.CHECKSUM, checksum(bytes));
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate().position(0).limit(SegmentDescriptor.CHECKSUM));
        return (int) crc.getValue();
    }
}
