package org.mmapqueue.spark.read.stream;

import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** The queue of a query, and the query's consumer of it. Not thread-safe. */
interface QuerySource extends AutoCloseable {

    /** Looks for new partitions and records. */
    void refresh();

    /**
     * The partitions that exist, by number.
     *
     * @throws IllegalArgumentException if the location has no queue
     */
    List<Integer> ids();

    /** The identity of the queue that is at a partition's location now; empty for none. */
    Optional<UUID> queueId(int partition);

    /** The identity of the archive; empty for a local queue. */
    Optional<UUID> archiveId();

    /**
     * Opens a partition and the query's consumer of it; a new consumer starts at the log start.
     *
     * @throws IllegalStateException if another query or process uses the consumer
     */
    StreamPartition open(int partition);

    /**
     * Stores the positions of the consumer, where the partitions themselves do not. The checkpoint decides what is read,
     * so a failure is logged, and the next call tries again.
     *
     * @throws IllegalStateException if a new consumer cannot be stored
     */
    void store();

    /** Whether {@link #store} has nothing to store. */
    boolean isStored();

    /** Whether the consumer did not exist before this start of the query, where the partitions themselves do not know that. */
    boolean isNew();

    /** Deletes the consumer, where the partitions themselves do not. */
    void forget();

    @Override
    void close();
}
