package org.mmapqueue.log;

import org.mmapqueue.MessageHandler;

/**
 * Records that are fetched a batch at a time under a lock, and delivered to a handler without it. This is the one loop
 * of pops, random reads and range reads.
 */
public interface BatchSource {
    /** What {@link #deliver} returns when the source allowed no batch at all. */
    int NOT_ALLOWED = -1;

    /**
     * Fetches the next records, under the lock of the source.
     *
     * @param maxRecords the most records
     * @param maxBytes the most bytes of payload
     * @param own whether each record gets an array of its own
     * @param done records that this delivery has fetched before; when it is 0, a record larger than {@code maxBytes} is
     *     fetched all the same, and errors are thrown
     * @return the batch; null when the source allows none
     */
    RecordBatch fetch(int maxRecords, long maxBytes, boolean own, int done);

    /** The handler has thrown: it did not get the records from {@link RecordBatch#delivered} on. */
    void undelivered(RecordBatch batch);

    /** Takes a batch back that was delivered. */
    void recycle(RecordBatch batch);

    /**
     * Fetches and delivers records until there are no more, or enough.
     *
     * @param maxRecords the most records, at least 1
     * @param maxBytes the most bytes of payload; a first record that is larger is delivered all the same
     * @param own whether the handler may keep the arrays that it gets
     * @param handler gets the records, in order, without a lock
     * @return how many, or {@link #NOT_ALLOWED}
     */
    static int deliver(BatchSource source, int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        int count = 0;
        long bytesLeft = maxBytes;
        while (true) {
            RecordBatch batch = source.fetch(maxRecords - count, bytesLeft, own, count);
            if (batch == null) {
                return count == 0 ? NOT_ALLOWED : count;
            }
            count += batch.count();
            bytesLeft -= batch.bytes();
            boolean isLast = !batch.isFull();
            try {
                batch.deliver(handler);
            } finally {
                if (batch.delivered() < batch.count()) {
                    source.undelivered(batch);
                }
                source.recycle(batch);
            }
            if (isLast) {
                return count;
            }
        }
    }
}
