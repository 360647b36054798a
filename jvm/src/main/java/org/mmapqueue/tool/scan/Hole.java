package org.mmapqueue.tool.scan;

import org.mmapqueue.segment.Geometry;

/**
 * A range of the log without an intact record.
 *
 * @param fromId the segment of the start
 * @param from the byte in that segment
 * @param toId the segment in which the log continues
 * @param to the byte in that segment
 * @param first the offset of the first lost record
 * @param lost the number of lost records
 */
public record Hole(long fromId, int from, long toId, int to, long first, long lost) {
    /** The length of the hole, in bytes. */
    public long bytes(Geometry geometry) {
        return (toId - fromId) * geometry.dataBytes() + to - from;
    }

    /** Whether a position is inside. */
    public boolean contains(long position, Geometry geometry) {
        return position > geometry.position(fromId, from) && position < end(geometry);
    }

    long end(Geometry geometry) {
        return geometry.position(toId, to == geometry.dataStart() ? 0 : to);
    }
}
