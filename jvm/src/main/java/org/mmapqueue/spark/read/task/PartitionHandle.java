package org.mmapqueue.spark.read.task;

import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.source.PartitionRecords;

/** Opens partitions in tasks, which may run in another process, or on another host, than the planning. */
final class PartitionHandle {
    private PartitionHandle() {}

    /**
     * Opens the partition of an input partition.
     *
     * @return the partition, which the caller closes
     * @throws IllegalStateException if the location holds no queue, or a different one
     */
    static PartitionRecords open(QueueInputPartition input) {
        PartitionRecords partition;
        try {
            partition = input.location().open();
        } catch (MmapQueueException | IllegalStateException e) {
            throw new IllegalStateException(elsewhere(input, e.getMessage()), e);
        }
        boolean same = false;
        try {
            same = partition.queueId().equals(input.queueId());
            if (!same) {
                throw new IllegalStateException(elsewhere(
                        input,
                        "the queue in the directory has the id " + partition.queueId() + ", not " + input.queueId()));
            }
            return partition;
        } finally {
            if (!same) {
                partition.close();
            }
        }
    }

    private static String elsewhere(QueueInputPartition input, String what) {
        return "partition " + input.location().id() + " cannot be read in "
                + input.location().path() + " on host " + Hosts.own() + ": " + what + "; "
                + input.location().needs();
    }
}
