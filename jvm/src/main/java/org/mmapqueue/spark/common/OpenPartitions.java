package org.mmapqueue.spark.common;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.mmapqueue.MmapQueue;

/** The partitions of a queue, open to be read. Any number of threads; a partition that is added later is not seen. */
public final class OpenPartitions implements AutoCloseable {
    private final List<PartitionDirectory> directories;
    private final List<MmapQueue> queues = new ArrayList<>();

    /**
     * Opens what is there; shares what this process has open.
     *
     * @param root the directory that was named
     * @throws IllegalArgumentException when there is no queue
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
     * Where they lie.
     *
     * @return in the order of their numbers
     */
    public List<PartitionDirectory> directories() {
        return directories;
    }

    /**
     * How many there are.
     *
     * @return at least 1
     */
    public int count() {
        return queues.size();
    }

    /**
     * One of them.
     *
     * @param partition its number
     * @return open until this is closed
     */
    public MmapQueue queue(int partition) {
        return queues.get(partition);
    }

    /** A figure of a partition. */
    @FunctionalInterface
    public interface Figure {
        /**
         * Takes it.
         *
         * @param partition its number
         * @param queue the partition
         * @return the figure
         */
        long of(int partition, MmapQueue queue);
    }

    /**
     * A figure of each.
     *
     * @param figure takes it
     * @return by partition
     */
    public PartitionOffsets offsets(Figure figure) {
        SortedMap<Integer, Long> map = new TreeMap<>();
        for (int i = 0; i < queues.size(); i++) {
            map.put(i, figure.of(i, queues.get(i)));
        }
        return new PartitionOffsets(map);
    }

    /**
     * The oldest records.
     *
     * @return the first offset that is retained in each
     */
    public PartitionOffsets earliest() {
        return offsets((partition, queue) -> queue.firstOffset());
    }

    /**
     * The ends.
     *
     * @return the offset that the next record gets in each
     */
    public PartitionOffsets latest() {
        return offsets((partition, queue) -> queue.endOffset());
    }

    @Override
    public void close() {
        queues.forEach(MmapQueue::close);
    }
}
