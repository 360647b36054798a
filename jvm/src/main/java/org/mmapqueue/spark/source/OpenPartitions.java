package org.mmapqueue.spark.source;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import org.mmapqueue.spark.common.PartitionOffsets;

/** The partitions of a queue, open for reading. Partitions that are added later are not seen. Thread-safe. */
public final class OpenPartitions implements AutoCloseable {
    private final SortedMap<Integer, ReadablePartition> byId = new TreeMap<>();

    /**
     * Holds open partitions.
     *
     * @param partitions closed together with this object
     */
    public OpenPartitions(Collection<? extends ReadablePartition> partitions) {
        partitions.forEach(each -> byId.put(each.id(), each));
    }

    /**
     * Opens partitions.
     *
     * @param locations their locations
     * @return all of them
     */
    static OpenPartitions of(List<PartitionLocation> locations) {
        List<ReadablePartition> opened = new ArrayList<>();
        boolean done = false;
        try {
            locations.forEach(each -> opened.add(each.open()));
            done = true;
        } finally {
            if (!done) {
                opened.forEach(ReadablePartition::close);
            }
        }
        return new OpenPartitions(opened);
    }

    /**
     * The partitions' numbers.
     *
     * @return the numbers, ascending
     */
    public SortedSet<Integer> ids() {
        return Collections.unmodifiableSortedSet(new TreeSet<>(byId.keySet()));
    }

    /**
     * The partitions.
     *
     * @return by number, open until this object is closed
     */
    public Collection<ReadablePartition> all() {
        return Collections.unmodifiableCollection(byId.values());
    }

    /**
     * The number of partitions.
     *
     * @return at least 1
     */
    public int count() {
        return byId.size();
    }

    /**
     * One partition.
     *
     * @param id its number
     * @return the partition, open until this object is closed
     */
    public ReadablePartition partition(int id) {
        return byId.get(id);
    }

    /**
     * Computes a value for each partition.
     *
     * @param value the function
     * @return values by partition
     */
    public PartitionOffsets offsets(ToLongFunction<ReadablePartition> value) {
        SortedMap<Integer, Long> map = new TreeMap<>();
        byId.forEach((id, partition) -> map.put(id, value.applyAsLong(partition)));
        return new PartitionOffsets(map);
    }

    /**
     * The log starts.
     *
     * @return the log start of each partition
     */
    public PartitionOffsets earliest() {
        return offsets(ReadablePartition::firstOffset);
    }

    /**
     * The log ends.
     *
     * @return the offset of the next record of each partition
     */
    public PartitionOffsets latest() {
        return offsets(ReadablePartition::endOffset);
    }

    @Override
    public void close() {
        byId.values().forEach(ReadablePartition::close);
    }
}
