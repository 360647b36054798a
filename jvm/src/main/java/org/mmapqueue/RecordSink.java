package org.mmapqueue;

/** Takes records that are read without a consumer, each in an array of its own. */
@FunctionalInterface
public interface RecordSink {

    /**
     * Called once for each record, in order, when its bytes were read and checked. No lock is held: the sink may call
     * anything, the queue and its handle included. When it throws, this record and those after it count as not read.
     *
     * @param offset the record's offset
     * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
     * @param data its bytes; the sink's own
     */
    void take(long offset, long timestampMicros, byte[] data);
}
