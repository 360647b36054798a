package org.mmapqueue.tool.scan;

import org.mmapqueue.segment.SegmentHeader;

/**
 * What the records of a segment count from: the second word of each has its distance from the base offset and the base
 * time.
 *
 * @param epoch the epoch of the segment
 * @param offset the base offset
 * @param time the base time, in µs since 1970
 */
public record SegmentBase(long epoch, long offset, long time) {
    public static SegmentBase of(SegmentHeader header) {
        return new SegmentBase(header.epoch(), header.baseOffset(), header.baseTime());
    }
}
