package org.mmapqueue.spark.write.sink;

import java.util.function.Function;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.Storage;

/**
 * Everything the sink does to a file system goes through this; tests put a disk in its place that fails or forgets.
 *
 * @param storage of staged files and manifests
 * @param queues opens a partition to be written
 */
public record SinkDisk(Storage storage, Function<QueueConfig, MmapQueue> queues) {
    /** The file system of this machine; what is staged there belongs to its owner alone. */
    public static final SinkDisk REAL = new SinkDisk(DiskStorage.INSTANCE, MmapQueue::open);
}
