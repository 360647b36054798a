package org.mmapqueue.tool.scan;

/** The rebuilt header of a segment. The offset of its first record may become known later. */
public final class RebuiltHeader {
    public final long id;
    public final long epoch;
    public final int first;
    public final long timestamp;
    public long baseOffset;

    /**
     * Makes a header.
     *
     * @param first the byte at which the first record starts; 0 or the segment's size for none
     * @param timestamp the base time of the segment, in µs since 1970
     */
    RebuiltHeader(long id, long epoch, int first, long timestamp) {
        this.id = id;
        this.epoch = epoch;
        this.first = first;
        this.timestamp = timestamp;
    }
}
