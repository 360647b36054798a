package org.mmapqueue.archive;

import java.util.UUID;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.archive.owner.LinkStore;

/**
 * A queue as the source of its shipper. {@link #read} is for one thread at a time, the link for one thread at a time;
 * any number of threads may call the other methods.
 */
public interface ShipSource extends LinkStore {
    /**
     * Throws if this process will not see what is pushed from now on, because the queue's directory was moved, replaced
     * or deleted. The shipper calls it while it has nothing to ship.
     *
     * @throws org.mmapqueue.errors.MmapQueueException if so
     */
    void checkPlace();

    /** The queue's UUID. */
    UUID queueId();

    /** The number of the partition in the queue's directory. */
    int localPartition();

    /** The offset of the first record that the queue still has; it may grow at any time, up to the committed offset. */
    long firstOffset();

    /** The offset of the next record. */
    long endOffset();

    /** The offset after the last durable record. */
    long durableOffset();

    /** The offset of the first record that the shipper's consumer has not acked, and that was not dropped for it. */
    long committedOffset();

    /**
     * The offset of the first record that a consumer of the queue may read in the archive; Long.MAX_VALUE if none does.
     */
    long consumedOffset();

    /**
     * Reads durable records.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @param maxBytes the maximum number of bytes of records; a larger first record is read nevertheless
     * @param sink called with each record
     * @return the offset after the last record
     * @throws org.mmapqueue.errors.OutOfRangeException if the first record is not retained
     */
    long read(long from, long to, long maxBytes, StoredRecordSink sink);

    /** Acks the records before an offset, for the shipper's consumer. */
    void ack(long before);
}
