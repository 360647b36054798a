package org.mmapqueue;

/** Receives records as the log stores them, gaps included. */
@FunctionalInterface
public interface StoredRecordSink {

    /**
     * Called once for each record, in order, after its bytes were read and checked. It must not wait, because a close
     * of the queue waits for it. If it throws, this record and those after it count as not read.
     *
     * @param record the record; its array is valid during the call only
     */
    void take(StoredRecord record);
}
