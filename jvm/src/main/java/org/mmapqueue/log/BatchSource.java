package org.mmapqueue.log;

import org.mmapqueue.MessageHandler;

/**
 * Fetches records a batch at a time under a lock, and delivers them to a handler without the lock. Pops, random-access
 * reads and range reads share this loop. Any number of threads may deliver at once.
 */
public abstract class BatchSource {
    /** Returned by {@link #deliver} when the source allows no batch. */
    public static final int NOT_ALLOWED = -1;

    /** A reusable batch. Guarded by the lock of {@link #fetch}. */
    protected final SpareBatch spare = new SpareBatch();

    /**
     * Fetches the next records. Takes the lock of the source.
     *
     * @param offset the first record's offset, for a source that has no position of its own
     * @param maxRecords the most records
     * @param maxBytes the most bytes of payload
     * @param own whether each record gets an array of its own
     * @param first whether this is the first batch of a delivery: then a record larger than {@code maxBytes} is still
     *     fetched, and errors are thrown
     * @return the batch, from {@link #spare}; null when the source allows none
     */
    protected abstract RecordBatch fetch(long offset, int maxRecords, long maxBytes, boolean own, boolean first);

    /** Called when the handler has thrown: it did not get the records from {@link RecordBatch#delivered} on. */
    protected abstract void undelivered(RecordBatch batch);

    /**
     * Fetches and delivers records until none are left or a limit is reached.
     *
     * @param offset the first record's offset, for a source that has no position of its own
     * @param maxRecords the most records, at least 1
     * @param maxBytes the most bytes of payload; a larger first record is still delivered
     * @param own whether the handler may keep the arrays that it gets
     * @param handler gets the records, in order, without a lock
     * @return the number of delivered records, or {@link #NOT_ALLOWED}
     */
    protected final int deliver(long offset, int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        int count = 0;
        long bytesLeft = maxBytes;
        while (true) {
            RecordBatch batch = fetch(offset + count, maxRecords - count, bytesLeft, own, count == 0);
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
                    undelivered(batch);
                }
                spare.put(batch);
            }
            if (isLast) {
                return count;
            }
        }
    }
}
