package org.mmapqueue.log;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.mmapqueue.MessageHandler;

/**
 * Fetches records a batch at a time under the lock of a source, and delivers them to a handler without the lock. Pops,
 * random-access reads and range reads share this loop. Any number of threads may deliver at once: one of them has the
 * spare batch, and the others get new ones.
 */
public final class BatchDelivery {
    /** Returned by {@link #deliver} when the source allows no batch. */
    public static final int NOT_ALLOWED = -1;

    /** The source of the records. */
    public interface Fetch {
        /**
         * Fetches the next records. Takes the lock of the source.
         *
         * @param offset of the first batch, that of {@link BatchDelivery#deliver}; of a later one, what the source has
         *     given the one before by {@link RecordBatch#next(long)}
         * @param maxRecords the maximum number of records
         * @param maxBytes the maximum number of bytes of payload
         * @param own whether each record gets an array of its own
         * @param first whether this is the first batch of a delivery: then a record larger than {@code maxBytes} is
         *     still fetched, and errors are thrown
         * @return the batch, from {@link #take}; null when the source allows none
         */
        RecordBatch next(long offset, int maxRecords, long maxBytes, boolean own, boolean first);
    }

    private final Fetch source;
    private final Consumer<RecordBatch> undelivered;
    private final RecordBatch spare = new RecordBatch();
    /**
     * Whether the spare batch is in use. A flag, not a reference that is set to null and back: with G1 such a store costs
     * as much as copying a small record.
     */
    private final AtomicBoolean inUse = new AtomicBoolean();

    /**
     * A delivery from this source.
     *
     * @param undelivered called when the handler has thrown: it did not get the records from {@link
     *     RecordBatch#delivered} on
     */
    public BatchDelivery(Fetch source, Consumer<RecordBatch> undelivered) {
        this.source = source;
        this.undelivered = undelivered;
    }

    /**
     * Fetches and delivers records until none are left or a limit is reached.
     *
     * @param offset the first record's offset, for a source that has no position of its own
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of bytes of payload; a larger first record is still delivered
     * @param own whether the handler may keep the arrays that it gets
     * @param handler gets the records, in order, without a lock
     * @return the number of delivered records, or {@link #NOT_ALLOWED}
     */
    public int deliver(long offset, int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        int count = 0;
        long bytesLeft = maxBytes;
        long next = offset;
        while (true) {
            RecordBatch batch = source.next(next, maxRecords - count, bytesLeft, own, count == 0);
            if (batch == null) {
                return count == 0 ? NOT_ALLOWED : count;
            }
            count += batch.count();
            next = batch.next();
            bytesLeft -= batch.bytes();
            boolean isLast = !batch.isFull();
            try {
                batch.deliver(handler);
            } finally {
                if (batch.delivered() < batch.count()) {
                    undelivered.accept(batch);
                }
                put(batch);
            }
            if (isLast) {
                return count;
            }
        }
    }

    /**
     * Begins a batch. One thread at a time: the source's lock guards this call.
     *
     * @param placement value for {@link RecordBatch#placement}
     * @param maxBytes the maximum number of bytes of payload
     * @param own whether each record gets an array of its own
     * @param first whether the first record may be larger than {@code maxBytes}
     * @param mostOfRound the maximum number of bytes of payload of this batch, unless its only record is larger
     */
    public RecordBatch take(int placement, long maxBytes, boolean own, boolean first, int mostOfRound) {
        RecordBatch batch = spare;
        if (inUse.getAcquire()) {
            batch = new RecordBatch();
        } else {
            inUse.setPlain(true);
        }
        batch.begin(own, placement, maxBytes, first, mostOfRound);
        return batch;
    }

    /** Returns a batch of {@link #take} for reuse. Any thread, without a lock. */
    public void put(RecordBatch used) {
        used.end();
        if (used == spare) {
            inUse.lazySet(false);
        }
    }
}
