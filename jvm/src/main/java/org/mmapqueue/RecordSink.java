package org.mmapqueue;

/** Receives records that are read without a consumer, each in an array of its own. */
@FunctionalInterface
public interface RecordSink {

    /**
     * Called once for each record, in order, after its bytes were read and checked. No lock is held: the sink may call
     * anything, the queue and its handle included. If it throws, this record and those after it count as not read.
     *
     * @param offset the record's offset
     * @param timestampMicros time of the push, in µs since 1970; 0 when the queue stores no timestamps
     * @param data the payload, which the sink may keep
     */
    void take(long offset, long timestampMicros, byte[] data);
}
