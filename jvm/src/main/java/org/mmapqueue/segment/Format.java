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

    /** Where records begin in a segment. */
    public int segmentHeaderBytes() {
        return segmentHeaderBytes;
    }

    /** The length of the meta page's file. */
    public int metaBytes() {
        return metaBytes;
    }

    /** Whether a segment's header has its first offset and timestamp, by which records are found. */
    public boolean hasSegmentHeaders() {
        return this == V2;
    }

    /** Whether records are recovered that were not synced when the writer ended. */
    public boolean recoversUnsynced() {
        return this == V2;
    }

    public boolean hasTimestamps() {
        return this == V2;
    }

    /** Whether there are consumers beside the default one, each owned by a process of its own choice. */
    public boolean hasNamedConsumers() {
        return this == V2;
    }

    /** Whether acked records are retained, and records dropped for lagging consumers. */
    public boolean hasRetention() {
        return this == V2;
    }

    public boolean hasProducers() {
        return this == V2;
    }

    /** Whether a push needs space for a record of max_event_size and one more segment, as in Satellite. */
    public boolean reservesLargestRecord() {
        return this == V1;
    }
}
