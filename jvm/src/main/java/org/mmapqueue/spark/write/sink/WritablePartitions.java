package org.mmapqueue.spark.write.sink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.write.staging.StagingArea;

/** Opens the partitions of a queue for writing, and deletes them. */
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

    /**
     * Deletes a queue: its partitions, the last one first, so that a call that is killed leaves a queue of fewer
     * partitions; then the files that writes have staged; then the directory, if it is empty. If a partition is in use,
     * none is deleted.
     *
     * @param root the queue's directory
     * @param options the keys of the queue's configuration
     * @throws org.mmapqueue.errors.LockedException if another process writes one of the partitions or owns one of their
     *     consumers, or if a query or a handle of this process has one open
     */
    public static void destroy(Path root, Options options) {
        List<MmapQueue> partitions = open(root, options);
        try {
            partitions.forEach(MmapQueue::checkUnused);
            for (int i = partitions.size() - 1; i >= 0; i--) {
                partitions.get(i).destroy();
            }
            new StagingArea(DiskStorage.INSTANCE, root).deleteAll();
            Files.deleteIfExists(root);
        } catch (DirectoryNotEmptyException e) {
            // the directory holds files that are not the queue's
        } catch (IOException e) {
            throw new UncheckedIOException("not all files of the queue in " + root + " could be deleted: " + e, e);
        } finally {
            Closing.all(partitions, MmapQueue::close);
        }
    }
}
