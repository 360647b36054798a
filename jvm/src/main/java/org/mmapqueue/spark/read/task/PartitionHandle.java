package org.mmapqueue.spark.read.task;

import java.nio.file.Files;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** Opens partitions where tasks run, which may be another process, or another host, than where they were found. */
final class PartitionHandle {
    private PartitionHandle() {}

    /**
     * Opens the partition that an input partition is of.
     *
     * @return a handle to be closed
     * @throws IllegalStateException when there is none here, or another one
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
                        input, "the queue that is there has the id " + queue.id() + ", not " + input.queueId()));
            }
            return queue;
        } finally {
            if (!same) {
                queue.close();
            }
        }
    }

    private static String elsewhere(QueueInputPartition input, String what) {
        return "partition " + input.directory().id() + " can not be read in "
                + input.directory().path() + " on host "
                + Hosts.own() + ": " + what + "; it was found on host " + input.host() + ", and its directory must be"
                + " on a file system that both see, under the same path";
    }
}
