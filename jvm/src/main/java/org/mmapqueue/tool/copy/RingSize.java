package org.mmapqueue.tool.copy;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.segment.SegmentHeader;

/**
 * The geometry of the ring of a copy.
 *
 * @param capacity bytes of all segment files, rounded up to whole segments; 0 for the queue's own
 * @param segmentSize bytes of a segment file, rounded down to whole pages; 0 for the queue's own
 */
public record RingSize(long capacity, long segmentSize) {
    /** The maximum number of bytes of a record besides its payload: header, timestamp, padding. */
    private static final int LARGEST_FRAME = 23;

    /**
     * Returns the fixed facts of a queue with this ring.
     *
     * @throws ConfigException if a value is out of range, or a record of max_event_size does not fit
     */
    MetaFields of(MetaFields facts) {
        long size = segmentSize == 0 ? facts.segmentSize() : segmentSize - segmentSize % MetaImage.PAGE;
        if (size < MetaImage.PAGE || size > MetaImage.LARGEST_SEGMENT) {
            throw new ConfigException(
                    "segment_size", Long.toString(segmentSize), MetaImage.PAGE + ".." + MetaImage.LARGEST_SEGMENT);
        }
        long bytes = capacity == 0 ? (long) facts.capacity() * facts.segmentSize() : capacity;
        long segments = bytes / size + (bytes % size == 0 ? 0 : 1);
        if (bytes < 0 || segments < 2 || segments > MetaImage.MOST_SEGMENTS) {
            throw new ConfigException(
                    "capacity",
                    Long.toString(bytes),
                    2 * size + ".." + MetaImage.MOST_SEGMENTS * size + ", with segments of " + size + " bytes");
        }
        long data = size - SegmentHeader.LENGTH;
        long needed = (facts.maxEventSize() + LARGEST_FRAME + data - 1) / data + 1;
        if (segments < needed) {
            throw new ConfigException(
                    "capacity",
                    Long.toString(bytes),
                    "at least " + needed * size + ", since max_event_size of the queue is " + facts.maxEventSize()
                            + " and a record leaves one segment free");
        }
        return facts.withRing((int) segments, (int) size);
    }

    /** The maximum number of bytes of records that the ring of a queue holds. */
    static long room(MetaFields facts) {
        return (long) facts.capacity() * (facts.segmentSize() - SegmentHeader.LENGTH);
    }

    /** The bytes of segment files that records take. */
    static long files(MetaFields facts, long recordBytes) {
        long data = (long) facts.segmentSize() - SegmentHeader.LENGTH;
        return (recordBytes + data - 1) / data * facts.segmentSize();
    }
}
