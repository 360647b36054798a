package org.mmapqueue.spark.source;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.function.ToLongFunction;
import org.mmapqueue.spark.common.PartitionOffsets;

/** The partitions of a queue, open for reading. Partitions that are added later are not seen. Not thread-safe. */
public final class OpenPartitions implements AutoCloseable {
    private final SortedSet<Integer> ids;
    private final SortedMap<Integer, ReadablePartition> selected = new TreeMap<>();
    private final Runnable atClose;

    /**
     * Holds open partitions.
     *
     * @param partitions all partitions
     * @param atClose closes the partitions
     */
    public OpenPartitions(Collection<? extends ReadablePartition> partitions, Runnable atClose) {
        partitions.forEach(each -> selected.put(each.id(), each));
        ids = Collections.unmodifiableSortedSet(new TreeSet<>(selected.keySet()));
        this.atClose = atClose;
    }

    private OpenPartitions(OpenPartitions all, IntPredicate isSelected) {
        ids = all.ids;
        all.selected.forEach((id, partition) -> {
            if (isSelected.test(id)) {
                selected.put(id, partition);
            }
        });
        atClose = () -> {};
    }

    /**
     * Selects the partitions that will be read; of an archive, only these are listed.
     *
     * @param isSelected whether a partition of a number is selected
     * @return a view of the same open partitions, with the numbers of all; closing the view does nothing
     */
    public OpenPartitions select(IntPredicate isSelected) {
        OpenPartitions some = new OpenPartitions(this, isSelected);
        ArchivedPartition.list(some.selected.values());
        return some;
    }

    /**
     * The numbers of all partitions.
     *
     * @return the numbers, ascending
     */
    public SortedSet<Integer> ids() {
        return ids;
    }

    /**
     * The selected partitions.
     *
     * @return by number, open until this object is closed
     */
    public Collection<ReadablePartition> all() {
        return List.copyOf(selected.values());
    }

    /**
     * The number of all partitions.
     *
     * @return at least 0
     */
    public int count() {
        return ids.size();
    }

    /**
     * One of the selected partitions.
     *
     * @param id the partition's number
     * @return the partition, open until this object is closed
     */
    public ReadablePartition partition(int id) {
        return selected.get(id);
    }

    /**
     * Computes a value for each selected partition.
     *
     * @param value the function
     * @return values by partition
     */
    public PartitionOffsets offsets(ToLongFunction<ReadablePartition> value) {
        SortedMap<Integer, Long> map = new TreeMap<>();
        selected.forEach((id, partition) -> map.put(id, value.applyAsLong(partition)));
        return new PartitionOffsets(map);
    }

    /**
     * The log starts.
     *
     * @return the log start of each selected partition
     */
    public PartitionOffsets earliest() {
        return offsets(ReadablePartition::firstOffset);
    }

    /**
     * The log ends.
     *
     * @return the offset of the next record of each selected partition
     */
    public PartitionOffsets latest() {
        return offsets(ReadablePartition::endOffset);
    }

    @Override
    public void close() {
        atClose.run();
    }
}
