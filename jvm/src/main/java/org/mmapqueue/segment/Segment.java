package org.mmapqueue.segment;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.UUID;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Mismatch;

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

    public long id() {
        return id;
    }

    /** Its file, for messages. */
    public Path path() {
        return path;
    }

    /** Loads a record's header, with acquire semantics. */
    public long headerAcquire(int at) {
        return (long) Mapped.LONG.getAcquire(bytes, at);
    }

    /** Publishes a record: stores its header, with release semantics. */
    public void publish(int at, long header) {
        Mapped.LONG.setRelease(bytes, at, header);
    }

    /** Loads a word; unordered. */
    public long getLong(int at) {
        return (long) Mapped.LONG.get(bytes, at);
    }

    /** Stores a word; unordered. */
    public void putLong(int at, long value) {
        Mapped.LONG.set(bytes, at, value);
    }

    /** Stores zeros over whole words, from one multiple of 8 up to another. */
    public void zero(int from, int to) {
        for (int at = from; at < to; at += 8) {
            putLong(at, 0);
        }
    }

    public void put(int at, byte[] source, int from, int length) {
        bytes.put(at, source, from, length);
    }

    /** Copies bytes into the segment; does not change the source's position. */
    public void put(int at, ByteBuffer source, int from, int length) {
        bytes.put(at, source, from, length);
    }

    public void get(int at, byte[] target, int to, int length) {
        bytes.get(at, target, to, length);
    }

    /** Writes the header of version 2, which must be complete before any record is published in this segment. */
    public void writeHeader(UUID queue, int capacity, long epoch, long baseOffset, long baseTime, int firstRecord) {
        SegmentHeader header =
                new SegmentHeader(queue, id, epoch, baseOffset, baseTime, bytes.limit(), capacity, firstRecord);
        put(0, header.encode(), 0, SegmentHeader.LENGTH);
    }

    /**
     * Checks the header of version 2.
     *
     * @return null when the header is that of this segment of the queue, else the value found and the value expected
     */
    public String headerFault(UUID queue, Geometry geometry) {
        byte[] copy = new byte[SegmentHeader.LENGTH];
        get(0, copy, 0, copy.length);
        ByteBuffer header = ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN);
        Mismatch fault = SegmentHeader.check(header);
        if (fault == null) {
            fault = SegmentHeader.decode(header).check(queue, id, geometry);
        }
        return fault == null ? null : "segment header: " + fault;
    }

    /** The epoch in which the header was written. */
    public long epoch() {
        return (int) Mapped.INT.get(bytes, SegmentDescriptor.EPOCH);
    }

    /** Offset of the first record that starts in this segment, or of the next record if none does. */
    public long baseOffset() {
        return getLong(SegmentDescriptor.BASE_OFFSET);
    }

    /** Lower bound of the timestamps of the records that start in this segment, in µs since 1970. */
    public long baseTime() {
        return getLong(SegmentDescriptor.BASE_TIME);
    }

    /** Byte at which the first record starts; 0 when none starts in this segment. */
    public int firstRecord() {
        return (int) Mapped.INT.get(bytes, SegmentDescriptor.FIRST_RECORD);
    }
}
