package org.mmapqueue.queue;

/** Where a reader puts records: it says into which array, and is told what is there then. */
public interface RecordSink {

    /**
     * Asked once for each record, before it is read.
     *
     * @param length the number of its bytes
     * @return an array that holds at least as many; they are stored from index 0 on
     */
    byte[] room(int length);

    /**
     * Called once for each record, in order, when its bytes have been stored and checked.
     *
     * @param offset the record's number in the queue
     * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
     * @param data what {@link #room} has returned
     * @param length the number of its bytes
     */
    void take(long offset, long timestampMicros, byte[] data, int length);
}
