package org.mmapqueue.spark.source;

import java.io.Serializable;

/** The location of a partition, also for tasks in other processes and on other hosts. Immutable. */
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
     * @throws IllegalStateException if the partition does not exist
     * @throws org.mmapqueue.errors.MmapQueueException if the partition cannot be read
     */
    PartitionRecords open();

    /**
     * Returns what a host needs to open the partition, for error messages.
     *
     * @return a clause
     */
    String needs();
}
