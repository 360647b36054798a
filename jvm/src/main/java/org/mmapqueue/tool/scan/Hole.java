package org.mmapqueue.tool.scan;

import java.nio.file.Path;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;

/** A range of the log in which all records are lost: none is intact, or none has a known offset. */
public final class Hole {
    /** The most bytes that a tombstone covers after its header. */
    public static final int LARGEST_BODY = (RecordDescriptor.MAX_LENGTH & -Long.BYTES) + Long.BYTES;

    /** The start of the first lost record: segment id, and byte in the segment. */
    public final long fromId;

    public final int from;
    /** The position at which the log continues. */
    public final long toId;

    public final int to;
    public final long epoch;
    /** Whether the header at the start, with a wrong checksum, describes one record that fills the hole exactly. */
    final boolean single;

    public final Path file;
    public final Mismatch fault;

    /** The offset of the first lost record, and the number of lost records. */
    public long first;

    public long lost;

    Hole(long fromId, int from, long toId, int to, long epoch, boolean single, Path file, Mismatch fault) {
        this.fromId = fromId;
        this.from = from;
        this.toId = toId;
        this.to = to;
        this.epoch = epoch;
        this.single = single;
        this.file = file;
        this.fault = fault;
    }

    /** The absolute position at which the log continues. */
    long toPosition(Geometry geometry) {
        return geometry.position(toId, to == geometry.dataStart() ? 0 : to);
    }

    /** The length of the hole, in bytes. */
    public long bytes(Geometry geometry) {
        return (toId - fromId) * geometry.dataBytes() + to - from;
    }

    /** The fewest records that fit; 0 when the hole may have been a pad. */
    long least(Geometry geometry) {
        boolean mayBePad = toId == fromId && to == geometry.segmentSize();
        long most = LARGEST_BODY + (long) RecordDescriptor.HEADER;
        return mayBePad ? 0 : Math.max(1, (bytes(geometry) + most - 1) / most);
    }

    /** The most records that fit. */
    long most(Geometry geometry) {
        return bytes(geometry) / RecordDescriptor.SMALLEST;
    }
}
