package org.mmapqueue.segment;

/**
 * The arithmetic of a ring: position = id × size + offset; slot = id mod capacity; ids and positions only grow.
 *
 * <p>A position that is a multiple of the size is the end of the segment before it: the next segment may not exist yet.
 * {@link #segmentOfEnd} and {@link #byteOfEnd} read a position in this sense.
 *
 * @param segmentSize bytes of each segment
 * @param capacity segments in the ring
 */
public record Geometry(Format format, int segmentSize, int capacity) {

    /** Offset in a segment at which records begin: after its header. */
    public int dataStart() {
        return format.segmentHeaderBytes();
    }

    /** Bytes for records in one segment. */
    public int dataBytes() {
        return segmentSize - dataStart();
    }

    public int slotOf(long id) {
        return (int) (id % capacity);
    }

    /** The position of a byte of a segment. */
    public long position(long id, int at) {
        return id * segmentSize + at;
    }

    /** The segment of the byte at the position. */
    public long segmentOf(long position) {
        return position / segmentSize;
    }

    /** The segment that ends at the position or holds it; -1 for position 0, before the first segment. */
    public long segmentOfEnd(long position) {
        return Math.floorDiv(position - 1, (long) segmentSize);
    }

    /** The byte within {@link #segmentOfEnd}, 1..size; the size itself at the end of a segment. */
    public int byteOfEnd(long position) {
        return (int) (position - segmentOfEnd(position) * segmentSize);
    }

    /**
     * The log end after a record of version 2 is appended at {@code end}; {@code bytes} includes the record's header.
     */
    public long after(long end, long bytes) {
        long id = segmentOfEnd(end);
        int at = byteOfEnd(end);
        if (at == segmentSize) {
            id++;
            at = dataStart();
        }
        long beyond = at + bytes - segmentSize;
        if (beyond <= 0) {
            return position(id, at) + bytes;
        }
        long segments = (beyond + dataBytes() - 1) / dataBytes();
        return position(id + segments, dataStart()) + beyond - (segments - 1) * dataBytes();
    }

    /**
     * Number of segments, after the one of a record's first byte, that need free slots in version 1, as in Satellite.
     *
     * @param maxEventSize the largest record in bytes
     */
    public int margin(int maxEventSize) {
        return 1 + maxEventSize / segmentSize;
    }

    public String fileName(long id) {
        return slotOf(id) + FILE_SUFFIX;
    }

    public static final String FILE_SUFFIX = "_segment.dat";
}
