package org.mmapqueue.segment;

import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mapped;

/**
 * One mapped segment in one generation of the ring. Access is safe from any thread while the segment is pinned; later
 * access may crash the JVM.
 */
public final class Segment {
    private final long id;
    private final Path path;
    private final ByteBuffer bytes;

    /** A segment in a mapping that the caller keeps. */
    public Segment(long id, Path path, MappedByteBuffer mapping) {
        this.id = id;
        this.path = path;
        this.bytes = mapping;
    }

    /** The segment's id. */
    public long id() {
        return id;
    }

    /** Its file, for messages. */
    public Path path() {
        return path;
    }

    /** Loads a record's header, with acquire semantics. */
    public long headerAcquire(int offset) {
        return (long) Mapped.LONG.getAcquire(bytes, offset);
    }

    /** Publishes a record: stores its header, with release semantics. */
    public void publish(int offset, long header) {
        Mapped.LONG.setRelease(bytes, offset, header);
    }

    /** Loads a word; unordered. */
    public long getLong(int offset) {
        return (long) Mapped.LONG.get(bytes, offset);
    }

    /** Stores a word; unordered. */
    public void putLong(int offset, long value) {
        Mapped.LONG.set(bytes, offset, value);
    }

    /** Stores zeros over whole words, from a multiple of 8 up to another one. */
    public void zero(int from, int to) {
        for (int at = from; at < to; at += 8) {
            putLong(at, 0);
        }
    }

    /** Copies bytes into the segment. */
    public void put(int offset, byte[] source, int from, int length) {
        bytes.put(offset, source, from, length);
    }

    /** Copies bytes into the segment; does not change the source's position. */
    public void put(int offset, ByteBuffer source, int from, int length) {
        bytes.put(offset, source, from, length);
    }

    /** Copies bytes out of the segment. */
    public void get(int offset, byte[] target, int to, int length) {
        bytes.get(offset, target, to, length);
    }

    /** Writes the header of version 2, which must be complete before any record is published in this segment. */
    public void writeHeader(long uuidLow, long epoch, long baseIndex, long baseTimestamp, int firstRecord) {
        Mapped.INT.set(bytes, SegmentDescriptor.VERSION, 2);
        Mapped.INT.set(bytes, SegmentDescriptor.VERSION + 4, 0);
        putLong(SegmentDescriptor.UUID_LOW, uuidLow);
        putLong(SegmentDescriptor.ID, id);
        putLong(SegmentDescriptor.EPOCH, epoch);
        putLong(SegmentDescriptor.BASE_INDEX, baseIndex);
        putLong(SegmentDescriptor.BASE_TIMESTAMP, baseTimestamp);
        Mapped.INT.set(bytes, SegmentDescriptor.FIRST_RECORD, firstRecord);
        putLong(SegmentDescriptor.MAGIC, SegmentDescriptor.MAGIC_VALUE);
        Mapped.INT.set(bytes, SegmentDescriptor.CHECKSUM, headerChecksum());
    }

    /** Wipes the header: the segment no longer belongs to the log. */
    public void wipeHeader() {
        zero(0, SegmentDescriptor.LENGTH);
    }

    /**
     * Checks the header of version 2.
     *
     * @return null when the header is that of this segment of the queue, else the value found and the value expected
     */
    public String headerFault(long uuidLow) {
        if (getLong(SegmentDescriptor.MAGIC) != SegmentDescriptor.MAGIC_VALUE) {
            return "segment magic is 0x" + Long.toHexString(getLong(SegmentDescriptor.MAGIC)) + ", expected 0x"
                    + Long.toHexString(SegmentDescriptor.MAGIC_VALUE);
        }
        int found = (int) Mapped.INT.get(bytes, SegmentDescriptor.CHECKSUM);
        if (found != headerChecksum()) {
            return "checksum of the segment header is 0x" + Integer.toHexString(found) + ", expected 0x"
                    + Integer.toHexString(headerChecksum());
        }
        if ((int) Mapped.INT.get(bytes, SegmentDescriptor.VERSION) != 2) {
            return "segment version is " + (int) Mapped.INT.get(bytes, SegmentDescriptor.VERSION) + ", expected 2";
        }
        if (getLong(SegmentDescriptor.UUID_LOW) != uuidLow) {
            return "the segment belongs to another queue";
        }
        if (getLong(SegmentDescriptor.ID) != id) {
            return "segment id is " + getLong(SegmentDescriptor.ID) + ", expected " + id;
        }
        int first = firstRecord();
        if (first != 0 && (first < SegmentDescriptor.LENGTH || first >= bytes.limit() || first % Long.BYTES != 0)) {
            return "the first record is at " + first + ", expected 0 or a multiple of 8 in " + SegmentDescriptor.LENGTH
                    + ".." + (bytes.limit() - Long.BYTES);
        }
        return null;
    }

    private int headerChecksum() {
        byte[] header = new byte[SegmentDescriptor.CHECKSUM];
        get(0, header, 0, header.length);
        CRC32C crc = new CRC32C();
        crc.update(header, 0, header.length);
        return (int) crc.getValue();
    }

    /** The epoch in which the header was written. */
    public long epoch() {
        return getLong(SegmentDescriptor.EPOCH);
    }

    /** Offset of the first record that starts in this segment, or of the next record if none does. */
    public long baseIndex() {
        return getLong(SegmentDescriptor.BASE_INDEX);
    }

    /** Lower bound of the timestamps of the records that start in this segment, in µs since 1970. */
    public long baseTimestamp() {
        return getLong(SegmentDescriptor.BASE_TIMESTAMP);
    }

    /** Byte at which the first record starts; 0 when none starts in this segment. */
    public int firstRecord() {
        return (int) Mapped.INT.get(bytes, SegmentDescriptor.FIRST_RECORD);
    }
}
