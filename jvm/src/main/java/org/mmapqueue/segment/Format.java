package org.mmapqueue.segment;

/** The formats of a queue directory, and what each of them can store. */
public enum Format {
    /** Apache SkyWalking Satellite's: bare segments, and the cursors of one consumer. */
    V1(0, 80),
    V2(SegmentDescriptor.LENGTH, 4096);

    private final int segmentHeaderBytes;
    private final int metaBytes;

    Format(int segmentHeaderBytes, int metaBytes) {
        this.segmentHeaderBytes = segmentHeaderBytes;
        this.metaBytes = metaBytes;
    }

    /** The format of a version number, 1 or 2. */
    public static Format of(int version) {
        return values()[version - 1];
    }

    public int version() {
        return ordinal() + 1;
    }

    /** Bytes of a segment's header: the offset within the segment at which records begin. */
    public int segmentHeaderBytes() {
        return segmentHeaderBytes;
    }

    /** Bytes of the meta page's file. */
    public int metaBytes() {
        return metaBytes;
    }

    /** Whether a segment's header stores its first offset and timestamp, which searches use. */
    public boolean hasSegmentHeaders() {
        return this == V2;
    }

    /** Whether recovery finds records after the recovery point that was stored last. */
    public boolean recoversUnsynced() {
        return this == V2;
    }

    public boolean hasTimestamps() {
        return this == V2;
    }

    /** Whether consumers exist beside the default one; each is owned by one process at a time. */
    public boolean hasNamedConsumers() {
        return this == V2;
    }

    /** Whether acked records can be retained, and records of lagging consumers dropped. */
    public boolean hasRetention() {
        return this == V2;
    }

    public boolean hasProducers() {
        return this == V2;
    }

    /** Whether a push needs room for a record of max_event_size and for one more segment, as in Satellite. */
    public boolean reservesLargestRecord() {
        return this == V1;
    }
}
