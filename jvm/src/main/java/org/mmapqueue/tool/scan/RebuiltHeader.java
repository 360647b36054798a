package org.mmapqueue.tool.scan;

/** The rebuilt header of a segment. The offset of its first record may become known later. */
public final class RebuiltHeader {
    public final long id;
    public final long epoch;
    public final int first;
    public final long timestamp;
    public long baseIndex;

    /**
     * Makes a header.
     *
     * @param first the byte at which the first record starts; 0 or the segment's size for none
     * @param timestamp lower bound of the timestamps of records that start in the segment, in µs since 1970
     */
    RebuiltHeader(long id, long epoch, int first, long timestamp) {
        this.id = id;
        this.epoch = epoch;
        this.first = first;
        this.timestamp = timestamp;
    }

    /**
     * Returns the header of this segment for a log that starts at a position within the segment, after lost records.
     */
    RebuiltHeader beginsAt(int offset, long number) {
        RebuiltHeader later = new RebuiltHeader(id, epoch, offset, timestamp);
        later.baseIndex = number;
        return later;
    }
}
