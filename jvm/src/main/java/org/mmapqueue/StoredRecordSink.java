package org.mmapqueue;

/** Takes records as the log holds them, tombstones included. */
@FunctionalInterface
public interface StoredRecordSink {

    /**
     * Called once for each record, in order, when its bytes were read and checked. It must not wait: a close of the
     * queue waits for it. When it throws, this record and those after it count as not read.
     *
     * @param record the record; its array is valid during the call only
     */
    void take(StoredRecord record);
}
