package org.mmapqueue.spark.source;

import java.io.Serializable;

/** Where a partition is, for tasks in other processes and on other hosts as well. Immutable. */
public interface PartitionLocation extends Serializable {

    /**
     * The partition's number.
     *
     * @return at least 0
     */
    int id();

    /**
     * The path, for messages.
     *
     * @return the directory or URI
     */
    String path();

    /**
     * Opens the partition.
     *
     * @return its records, which the caller closes
     * @throws IllegalStateException if there is no such partition
     * @throws org.mmapqueue.errors.MmapQueueException if it cannot be read
     */
    PartitionRecords open();

    /**
     * What a host needs to open it, for the message of an error.
     *
     * @return a clause
     */
    String needs();
}
