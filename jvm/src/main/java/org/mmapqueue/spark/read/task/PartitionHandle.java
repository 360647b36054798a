package org.mmapqueue.spark.read.task;

import java.nio.file.Files;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** Opens partitions in tasks, which may run in another process, or on another host, than the planning. */
final class PartitionHandle {
    private PartitionHandle() {}

    /**
     * Opens the partition of an input partition.
     *
     * @return a handle, which the caller closes
     * @throws IllegalStateException if the directory holds no queue, or another one
     */
    static MmapQueue open(QueueInputPartition input) {
        PartitionDirectory directory = input.directory();
        if (!Files.isDirectory(directory.directory())) {
            throw new IllegalStateException(elsewhere(input, "there is no such directory"));
        }
        MmapQueue queue;
        try {
            queue = MmapQueue.openToRead(directory.directory());
        } catch (MmapQueueException e) {
            throw new IllegalStateException(elsewhere(input, e.getMessage()), e);
        }
        boolean same = false;
        try {
            same = queue.id().equals(input.queueId());
            if (!same) {
                throw new IllegalStateException(elsewhere(
                        input, "the queue in the directory has the id " + queue.id() + ", not " + input.queueId()));
            }
            return queue;
        } finally {
            if (!same) {
                queue.close();
            }
        }
    }

    private static String elsewhere(QueueInputPartition input, String what) {
        return "partition " + input.directory().id() + " cannot be read in "
                + input.directory().path() + " on host "
                + Hosts.own() + ": " + what + "; it was planned on host " + input.host() + ", and its directory"
                + " must be on a file system that both hosts mount under the same path";
    }
}
