package org.mmapqueue.spark.source;

import java.util.UUID;

/** The records of a partition, as a task reads them. Moves no consumer. */
public interface PartitionRecords extends AutoCloseable {

    /**
     * The identity of the partition's queue.
     *
     * @return the queue's id
     */
    UUID queueId();

    /**
     * Returns the maximum number of threads of this process that may read at once.
     *
     * @return at least 1
     */
    int maxReaders();

    /**
     * Opens a reader of a range.
     *
     * @param from the first offset
     * @param to the offset after the last one
     * @param skipsDamage whether damaged records are skipped; else they are an error
     * @return the reader, which the caller closes
     */
    SequentialReader reader(long from, long to, boolean skipsDamage);

    @Override
    void close();
}
