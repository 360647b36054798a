package org.mmapqueue.spark.common;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.mmapqueue.MmapQueue;

/** The partitions of a queue, open for reading. Partitions that are added later are not seen. Thread-safe. */
public final class OpenPartitions implements AutoCloseable {
    private final List<PartitionDirectory> directories;
    private final List<MmapQueue> queues = new ArrayList<>();

    /**
     * Opens all existing partitions; shares the queues that this process has open.
     *
     * @param root the queue's directory
     * @throws IllegalArgumentException if there is no queue
     */
    public OpenPartitions(Path root) {
        directories = PartitionDirectory.find(root);
        boolean done = false;
        try {
            for (PartitionDirectory each : directories) {
                queues.add(MmapQueue.openToRead(each.directory()));
            }
            done = true;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    /**
     * The partitions' directories.
     *
     * @return in the order of their numbers
     */
    public List<PartitionDirectory> directories() {
        return directories;
    }

    /**
     * The number of partitions.
     *
     * @return at least 1
     */
    public int count() {
        return queues.size();
    }

    /**
     * One partition.
     *
     * @param partition its number
     * @return the partition, open until this object is closed
     */
    public MmapQueue queue(int partition) {
        return queues.get(partition);
    }

    /** A value computed from a partition. */
    @FunctionalInterface
    public interface Figure {
        /**
         * Computes the value.
         *
         * @param partition its number
         * @param queue the partition
         * @return the value
         */
        long of(int partition, MmapQueue queue);
    }

    /**
     * Computes a value for each partition.
     *
     * @param figure the function
     * @return values by partition
     */
    public PartitionOffsets offsets(Figure figure) {
        SortedMap<Integer, Long> map = new TreeMap<>();
        for (int i = 0; i < queues.size(); i++) {
            map.put(i, figure.of(i, queues.get(i)));
        }
        return new PartitionOffsets(map);
    }

    /**
     * The log starts.
     *
     * @return the log start of each partition
     */
    public PartitionOffsets earliest() {
        return offsets((partition, queue) -> queue.firstOffset());
    }

    /**
     * The log ends.
     *
     * @return the offset of the next record of each partition
     */
    public PartitionOffsets latest() {
        return offsets((partition, queue) -> queue.endOffset());
    }

    @Override
    public void close() {
        queues.forEach(MmapQueue::close);
    }
}
