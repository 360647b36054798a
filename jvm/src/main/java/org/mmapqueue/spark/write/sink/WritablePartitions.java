package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.common.Options;

/** Opens the partitions of a queue for writing. */
public final class WritablePartitions {
    private WritablePartitions() {}

    /**
     * Opens all partitions, and makes missing ones.
     *
     * @param root the queue's directory
     * @param options partitions, capacity, and the keys of the queue's configuration
     * @return the partitions, by number; the caller closes them
     * @throws IllegalArgumentException if the number of partitions is not possible, or a value is invalid
     * @throws org.mmapqueue.errors.LockedException if another process writes one of them
     */
    public static List<MmapQueue> makeAndOpen(Path root, Options options) {
        return SinkPartitions.open(root, WriteOptions.of(root, options).config());
    }

    /**
     * Opens the existing partitions.
     *
     * @param root the queue's directory
     * @param options the keys of the queue's configuration
     * @return the partitions, by number; the caller closes them
     * @throws IllegalArgumentException if a value is invalid
     * @throws org.mmapqueue.errors.LockedException if another process writes one of them
     */
    public static List<MmapQueue> open(Path root, Options options) {
        return SinkPartitions.open(
                root, new SinkConfig(0, WriteOptions.of(root, options).config().keys()));
    }
}
