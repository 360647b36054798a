package org.mmapqueue.spark.write.sink;

import java.util.function.Function;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.Storage;

/**
 * The sink's access to the file system. Tests use one that fails or loses writes.
 *
 * @param storage for staged files and manifests
 * @param queues opens a partition for writing
 */
public record SinkDisk(Storage storage, Function<QueueConfig, MmapQueue> queues) {
    /** The machine's file system. Only the user of the process can access staged files. */
    public static final SinkDisk REAL = new SinkDisk(DiskStorage.INSTANCE, MmapQueue::open);
}
