package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.common.Options;

/** The partitions of a queue, opened to be written as options say. */
public final class WritablePartitions {
    private WritablePartitions() {}

    /**
     * Opens them; makes those that are not there.
     *
     * @param root the queue's directory
     * @param options partitions, capacity, and the keys of the queue's configuration
     * @return in the order of their numbers, to be closed
     * @throws IllegalArgumentException when there can not be so many, or a value is refused
     * @throws org.mmapqueue.errors.LockedException when another process writes one of them
     */
    public static List<MmapQueue> makeAndOpen(Path root, Options options) {
        return SinkPartitions.open(root, WriteOptions.of(root, options).config());
    }

    /**
     * Opens those that are there.
     *
     * @param root the queue's directory
     * @param options the keys of the queue's configuration
     * @return in the order of their numbers, to be closed
     * @throws IllegalArgumentException when a value is refused
     * @throws org.mmapqueue.errors.LockedException when another process writes one of them
     */
    public static List<MmapQueue> open(Path root, Options options) {
        return SinkPartitions.open(
                root, new SinkConfig(0, WriteOptions.of(root, options).config().keys()));
    }
}
