package org.mmapqueue.segment;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Mismatch;

/**
 * The header of a segment of version 2 as a value, for code that reads files without mapping them.
 *
 * @param epoch in which the header was written
 * @param baseOffset the offset of the first record that starts in the segment, or of the next record if none does
 * @param baseTime lower bound of the timestamps of records that start in the segment, in µs since 1970; a whole number of
 *     ms
 * @param segmentSize bytes of the segment
 * @param capacity segments in the ring
 * @param firstRecord the byte at which the first record starts; 0 when none starts in the segment
 */
public record SegmentHeader(
        UUID queue,
        long id,
        long epoch,
        long baseOffset,
        long baseTime,
        int segmentSize,
        int capacity,
        int firstRecord) {
    public static final int LENGTH = SegmentDescriptor.LENGTH;
    /** Bytes of the epoch, for messages. */
    public static final int EPOCH_AT = SegmentDescriptor.EPOCH;
    /** Byte of the base offset, for messages. */
    public static final int BASE_OFFSET_AT = SegmentDescriptor.BASE_OFFSET;
    /** Byte of the first record, for messages. */
    public static final int FIRST_RECORD_AT = SegmentDescriptor.FIRST_RECORD;

    /** Reads a header, unchecked, from index 0 of a little-endian buffer. */
    public static SegmentHeader decode(ByteBuffer bytes) {
        return new SegmentHeader(
                new UUID(bytes.getLong(SegmentDescriptor.UUID_HIGH), bytes.getLong(SegmentDescriptor.UUID_LOW)),
                bytes.getLong(SegmentDescriptor.ID),
                bytes.getInt(SegmentDescriptor.EPOCH),
                bytes.getLong(SegmentDescriptor.BASE_OFFSET),
                bytes.getLong(SegmentDescriptor.BASE_TIME),
                bytes.getInt(SegmentDescriptor.SEGMENT_SIZE),
                bytes.getInt(SegmentDescriptor.CAPACITY),
                bytes.getInt(SegmentDescriptor.FIRST_RECORD));
    }

    /** The first fault that the header shows by itself; null when magic and checksum are right. */
    public static Mismatch check(ByteBuffer bytes) {
        int magic = bytes.getInt(SegmentDescriptor.MAGIC);
        if (magic != SegmentDescriptor.MAGIC_VALUE) {
            return new Mismatch(
                    SegmentDescriptor.MAGIC,
                    "magic " + Mismatch.hex(magic)
                            + (magic == SegmentDescriptor.MAGIC_OF_RC1 ? ", a segment of version 1.0.0rc1" : ""),
                    Mismatch.hex(SegmentDescriptor.MAGIC_VALUE));
        }
        int found = bytes.getInt(SegmentDescriptor.CHECKSUM);
        return found == checksum(bytes)
                ? null
                : new Mismatch(
                        SegmentDescriptor.CHECKSUM, "checksum " + Mismatch.hex(found), Mismatch.hex(checksum(bytes)));
    }

    /** The first fault of a valid header as that of this segment of this queue; null for none. */
    public Mismatch check(UUID ofQueue, long segmentId, Geometry geometry) {
        if (!queue.equals(ofQueue)) {
            return new Mismatch(
                    SegmentDescriptor.UUID_HIGH, "a segment of another queue, " + queue, "one of queue " + ofQueue);
        }
        if (id != segmentId) {
            return new Mismatch(SegmentDescriptor.ID, "segment id " + id, Long.toString(segmentId));
        }
        if (segmentSize != geometry.segmentSize() || capacity != geometry.capacity()) {
            return new Mismatch(
                    SegmentDescriptor.SEGMENT_SIZE,
                    "a segment of " + segmentSize + " bytes in a ring of " + capacity,
                    geometry.segmentSize() + " bytes in a ring of " + geometry.capacity());
        }
        boolean inside = firstRecord >= LENGTH && firstRecord < segmentSize && firstRecord % Long.BYTES == 0;
        if (firstRecord != 0 && !inside) {
            return new Mismatch(
                    SegmentDescriptor.FIRST_RECORD,
                    "a first record at " + firstRecord,
                    "0 or a multiple of 8 in " + LENGTH + ".." + (segmentSize - Long.BYTES));
        }
        if (epoch < 1) {
            return new Mismatch(SegmentDescriptor.EPOCH, "epoch " + epoch, "at least 1");
        }
        if (baseOffset < 0) {
            return new Mismatch(SegmentDescriptor.BASE_OFFSET, "base offset " + baseOffset, "at least 0");
        }
        if (baseTime < 0 || baseTime % 1000 != 0) {
            return new Mismatch(SegmentDescriptor.BASE_TIME, "base time " + baseTime, "a multiple of 1000, 0 or more");
        }
        return null;
    }

    /** The same header with another base time. */
    public SegmentHeader withBaseTime(long time) {
        return new SegmentHeader(queue, id, epoch, baseOffset, time, segmentSize, capacity, firstRecord);
    }

    /** The same header with another first record. */
    public SegmentHeader withFirst(int first, long offset) {
        return new SegmentHeader(queue, id, epoch, offset, baseTime, segmentSize, capacity, first);
    }

    /** Whether the header is all zeros: the file was only preallocated, or the header was wiped. */
    public static boolean isEmpty(ByteBuffer bytes) {
        return Mapped.isZero(bytes, 0, LENGTH);
    }

    public ByteBuffer encode() {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putInt(SegmentDescriptor.MAGIC, SegmentDescriptor.MAGIC_VALUE);
        bytes.putInt(SegmentDescriptor.EPOCH, (int) epoch);
        bytes.putLong(SegmentDescriptor.UUID_HIGH, queue.getMostSignificantBits());
        bytes.putLong(SegmentDescriptor.UUID_LOW, queue.getLeastSignificantBits());
        bytes.putLong(SegmentDescriptor.ID, id);
        bytes.putLong(SegmentDescriptor.BASE_OFFSET, baseOffset).putLong(SegmentDescriptor.BASE_TIME, baseTime);
        bytes.putInt(SegmentDescriptor.SEGMENT_SIZE, segmentSize).putInt(SegmentDescriptor.CAPACITY, capacity);
        bytes.putInt(SegmentDescriptor.FIRST_RECORD, firstRecord);
        return bytes.putInt(SegmentDescriptor.CHECKSUM, checksum(bytes));
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate().position(0).limit(SegmentDescriptor.CHECKSUM));
        return (int) crc.getValue();
    }
}
