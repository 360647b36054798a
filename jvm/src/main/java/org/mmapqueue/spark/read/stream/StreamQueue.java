package org.mmapqueue.spark.read.stream;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.IntFunction;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.read.stream.StreamLimits.Range;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.source.OpenPartitions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The partitions that a query reads, compared with the state in its checkpoint; detects replaced queues and lost
 * records. Not thread-safe.
 */
final class StreamQueue implements StreamLimits.Bytes, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StreamQueue.class);

    private final Location location;
    private final CheckpointFile checkpoint;
    private final QuerySource source;
    private final boolean failOnDataLoss;
    private final SortedMap<Integer, StreamPartition> partitions = new TreeMap<>();
    /** Partitions with another queue identity than in the checkpoint. */
    private final Set<Integer> replaced = new HashSet<>();
    /** The last logged loss of each partition. */
    private final Map<Integer, String> reported = new HashMap<>();
    /** The offset after the last lost record of each partition. */
    private final Map<Integer, Long> lostTo = new HashMap<>();

    private long lostRecords;
    /** Null until {@link #begin} of a new query. */
    private StreamOrigin origin;

    /**
     * Reads the state in the checkpoint, and opens nothing.
     *
     * @param source the queue, with the consumer that retains records for the query
     */
    StreamQueue(Location location, CheckpointFile checkpoint, QuerySource source, boolean failOnDataLoss) {
        this.location = location;
        this.checkpoint = checkpoint;
        this.source = source;
        this.failOnDataLoss = failOnDataLoss;
        this.origin = checkpoint.read().orElse(null);
    }

    /**
     * Opens the existing partitions.
     *
     * @throws IllegalArgumentException if the location has no queue
     * @throws IllegalStateException if the consumer is in use
     */
    void open() {
        source.refresh();
        checkArchive();
        lookForPartitions();
    }

    /**
     * Looks for new records, and checks that each open queue is still the one in its directory. A queue that was moved
     * away stays readable, so the query would not notice that new records go to another queue.
     *
     * @throws IllegalStateException if a queue was replaced and failOnDataLoss is true
     */
    void refresh() {
        source.refresh();
        checkArchive();
        for (StreamPartition each : List.copyOf(partitions.values())) {
            Optional<UUID> current = source.queueId(each.records().id());
            if (!current.equals(Optional.of(each.queueId()))) {
                replace(each, current);
            }
        }
    }

    private void checkArchive() {
        UUID current = source.archiveId().orElse(null);
        if (origin == null || Objects.equals(origin.archive(), current)) {
            return;
        }
        String what = "the archive " + location + " that the query with checkpoint " + checkpoint + " was reading was"
                + " replaced: it had the id " + origin.archive() + ", the present one has the id " + current;
        if (failOnDataLoss) {
            throw new IllegalStateException(what + ". With option failOnDataLoss = false the query continues with the"
                    + " present archive, at the same offsets where it holds the same queues");
        }
        LOG.warn("{}; the query continues with the present one, as failOnDataLoss is false", what);
        partitions.values().forEach(StreamPartition::abandon);
        partitions.clear();
        origin = new StreamOrigin(origin.parts(), current);
        checkpoint.write(origin);
    }

    private void replace(StreamPartition former, Optional<UUID> current) {
        int id = former.records().id();
        String what = "partition " + id + " of the queue in " + location
                + " was replaced while the query with checkpoint "
                + checkpoint + " was reading it: "
                + current.map(now -> "the present queue has the id " + now).orElse("there is none now")
                + ", the one that it was reading has the id " + former.queueId();
        if (failOnDataLoss) {
            throw new IllegalStateException(
                    what + ". With option failOnDataLoss = false the query continues with the present queue");
        }
        LOG.warn("{}; the query continues with the present queue, as failOnDataLoss is false", what);
        partitions.remove(id);
        former.abandon();
        if (current.isEmpty()) {
            return;
        }
        StreamPartition next = source.open(id);
        partitions.put(id, next);
        if (!next.queueId().equals(current.get())) {
            throw new IllegalStateException(what + ", and this process still has the former one open, so the"
                    + " present one cannot be opened: close the former one first");
        }
        if (origin != null) {
            compare(id);
        }
    }

    /** Opens added partitions. The query reads them from the log start. */
    @SuppressWarnings("ReferenceEquality") // each change makes a new object
    void lookForPartitions() {
        StreamOrigin before = origin;
        boolean anyAdded = false;
        for (int id : source.ids()) {
            if (!partitions.containsKey(id)) {
                partitions.put(id, source.open(id));
                anyAdded = true;
                if (origin != null) {
                    compare(id);
                }
            }
        }
        if (anyAdded) {
            source.store();
        }
        if (origin != before) {
            checkpoint.write(origin);
        }
    }

    private void compare(int id) {
        StreamPartition partition = partitions.get(id);
        StreamOrigin.Part known = origin.parts().get(id);
        if (known == null) {
            long first = partition.moveTo(StartAt.EARLIEST);
            if (first > 0 && !partition.mayBeginLate()) {
                lost(id, 0, first, "they were reclaimed before the query saw the partition, which is new to it");
            }
            origin = origin.with(id, new StreamOrigin.Part(partition.queueId(), first));
        } else if (!known.queue().equals(partition.queueId())) {
            replaced.add(id);
        }
    }

    /**
     * The first offsets of the query; computed once, and stored in the checkpoint.
     *
     * @param start the start of a new query in a partition
     * @throws IllegalArgumentException if a start is outside of the log
     */
    PartitionOffsets begin(IntFunction<StartAt> start) {
        if (origin == null) {
            Map<Integer, StartAt> asked = new HashMap<>();
            partitions.keySet().forEach(id -> asked.put(id, start.apply(id)));
            // All of them before the first one frees records.
            partitions.forEach((id, partition) -> at(id, () -> partition.check(asked.get(id))));
            SortedMap<Integer, StreamOrigin.Part> parts = new TreeMap<>();
            partitions.forEach((id, partition) -> at(
                    id,
                    () -> parts.put(id, new StreamOrigin.Part(partition.queueId(), partition.moveTo(asked.get(id))))));
            StreamOrigin begun = new StreamOrigin(parts, source.archiveId().orElse(null));
            source.store();
            checkpoint.write(begun);
            origin = begun;
        }
        SortedMap<Integer, Long> starts = new TreeMap<>();
        origin.parts().forEach((id, part) -> starts.put(id, part.start()));
        return new PartitionOffsets(starts);
    }

    private static void at(int id, Runnable start) {
        try {
            start.run();
        } catch (OutOfRangeException | ConfigException e) {
            throw new IllegalArgumentException("partition " + id + ": " + e.getMessage(), e);
        }
    }

    /** Whether the checkpoint has the first offsets, so that the query can be restarted. */
    boolean hasBegun() {
        return origin != null;
    }

    /** Whether the query's consumers did not exist before this start: then nothing depends on them yet. */
    boolean isNew() {
        return source.isNew() && partitions.values().stream().allMatch(StreamPartition::isNew);
    }

    /** The open partitions, by number. */
    SortedMap<Integer, StreamPartition> partitions() {
        return partitions;
    }

    /** The open partitions for planning; they stay open. */
    OpenPartitions records() {
        return new OpenPartitions(
                partitions.values().stream().map(StreamPartition::records).toList(), () -> {});
    }

    /** The query's first offset in a partition. */
    long start(int id) {
        StreamOrigin.Part part = origin == null ? null : origin.parts().get(id);
        return part == null ? 0 : part.start();
    }

    /** The present log ends. */
    PartitionOffsets ends() {
        SortedMap<Integer, Long> ends = new TreeMap<>();
        partitions.forEach((id, partition) -> ends.put(id, partition.records().endOffset()));
        return new PartitionOffsets(ends);
    }

    /**
     * The available records.
     *
     * @param from the query's position
     * @param ends upper bounds of the ranges, exclusive
     * @return ranges by partition; if a range begins after the query's position, the records between the two are lost
     * @throws IllegalStateException if records are lost and failOnDataLoss is true
     */
    SortedMap<Integer, Range> available(PartitionOffsets from, PartitionOffsets ends) {
        SortedMap<Integer, Range> ranges = new TreeMap<>();
        from.map().forEach((id, offset) -> {
            if (!partitions.containsKey(id)) {
                lost(id, offset, Long.MAX_VALUE, "the partition does not exist any more");
                ranges.put(id, new Range(offset, offset));
            }
        });
        partitions.forEach((id, partition) ->
                ranges.put(id, available(partition, from.of(id, start(id)), ends.of(id, Long.MAX_VALUE))));
        return ranges;
    }

    private Range available(StreamPartition partition, long from, long most) {
        int id = partition.records().id();
        if (replaced.contains(id)) {
            long first = partition.moveTo(StartAt.EARLIEST);
            lostFormer(id, from);
            if (from != first) {
                return new Range(first, first); // an empty batch switches from the former queue to the present one
            }
            adopt(partition, first);
        }
        long end = partition.records().endOffset();
        if (from > end) {
            lost(id, end, from, "the queue ends at offset " + end + ", " + partition.shortEnd());
            long next = partition.continuation(from, end);
            return new Range(next, next);
        }
        long first = partition.hold(from);
        if (first > from) {
            lost(id, from, first, "they are not retained any more");
        }
        return new Range(first, Math.max(first, Math.min(end, most)));
    }

    // Called only after Spark has logged the new position: until then a restart must detect the replacement again.
    private void adopt(StreamPartition partition, long first) {
        int id = partition.records().id();
        origin = origin.with(id, new StreamOrigin.Part(partition.queueId(), first));
        checkpoint.write(origin);
        replaced.remove(id);
    }

    /**
     * Returns the part of a batch that can be read.
     *
     * @param from the batch's first offset
     * @param to the offset after the batch's last one
     * @return the batch's range without lost records
     * @throws IllegalStateException if records are lost and failOnDataLoss is true
     */
    Range readable(int id, long from, long to) {
        Range nothing = new Range(to, to);
        if (to <= from) {
            return nothing;
        }
        StreamPartition partition = partitions.get(id);
        if (partition == null) {
            lost(id, from, to, "the partition does not exist any more");
            return nothing;
        }
        if (replaced.contains(id)) {
            lostFormer(id, from);
            return nothing;
        }
        long first = partition.hold(from);
        if (first > from) {
            lost(id, from, Math.min(first, to), "they are not retained any more");
        }
        long end = partition.records().endOffset();
        if (to > end) {
            lost(id, Math.max(from, end), to, "the queue ends with offset " + end + ", " + partition.shortEnd());
        }
        return first >= to ? nothing : new Range(first, Math.max(first, Math.min(to, end)));
    }

    @Override
    public long of(int partition, long from, long to) {
        return partitions.get(partition).records().estimatedBytes(from, to);
    }

    @Override
    public long endWithin(int partition, long from, long to, long most) {
        return partitions.get(partition).records().endWithin(from, to, most);
    }

    @Override
    public long most(int partition) {
        return partitions.get(partition).mostHeld();
    }

    /** Acks all records before these offsets, which the query will not read again. */
    void release(PartitionOffsets before) {
        before.map().forEach((id, offset) -> known(id).ifPresent(partition -> partition.release(offset)));
        source.store();
    }

    /** Whether {@link #release} would ack records, or has an earlier ack to store. */
    boolean retains(PartitionOffsets before) {
        return !source.isStored()
                || before.map().entrySet().stream()
                        .anyMatch(each -> known(each.getKey())
                                .filter(partition -> partition.retains(each.getValue()))
                                .isPresent());
    }

    /** Whether the query has not moved yet from the former queue of a partition to the present one. */
    boolean isReplaced(int id) {
        return replaced.contains(id);
    }

    /** Whether all acks are stored. */
    boolean isStored() {
        return source.isStored();
    }

    // The partition to which the query's offsets apply.
    private Optional<StreamPartition> known(int id) {
        return replaced.contains(id) ? Optional.empty() : Optional.ofNullable(partitions.get(id));
    }

    private void lostFormer(int id, long from) {
        if (from > 0) {
            lost(
                    id,
                    from,
                    Long.MAX_VALUE,
                    "the queue was replaced by a different one: "
                            + partitions.get(id).queueId() + " instead of "
                            + origin.parts().get(id).queue()
                            + ". Where the query now reads other queues, or in another order, restart it with the"
                            + " former ones; from Spark 4.2 on, sources with names may change");
        }
    }

    private void lost(int id, long from, long to, String why) {
        String range = to == Long.MAX_VALUE ? "from " + from + " on" : from + ".." + (to - 1);
        String what = "partition " + id + " of the queue in " + location + " has lost the records with offsets" + " "
                + range + ", which the query with checkpoint " + checkpoint + " has to read: " + why;
        if (failOnDataLoss) {
            throw new IllegalStateException(
                    what + ". With option failOnDataLoss = false the query continues" + " without them");
        }
        if (!what.equals(reported.put(id, what))) { // once, not at each trigger
            LOG.warn("{}; the query continues without them, as failOnDataLoss is false", what);
        }
        if (to < Long.MAX_VALUE) {
            count(id, from, to);
        }
    }

    /** Counts lost records, each once. */
    void count(int id, long from, long to) {
        long first = Math.max(from, lostTo.getOrDefault(id, 0L));
        lostRecords += Math.max(0, to - first);
        lostTo.merge(id, to, Math::max);
    }

    /** The number of records that were found lost so far, without those of replaced queues and deleted partitions. */
    long lostRecords() {
        return lostRecords;
    }

    /** Deletes the query's consumers, because the query cannot be restarted. */
    void forget() {
        try {
            Closing.all(partitions.values(), StreamPartition::forget);
        } finally {
            partitions.clear();
            source.forget();
        }
    }

    /**
     * Closes all partitions. The consumers keep their committed offsets, and retain the records that the checkpoint may
     * replay.
     */
    @Override
    public void close() {
        try {
            Closing.all(partitions.values(), StreamPartition::close);
        } finally {
            partitions.clear();
            source.close();
        }
    }
}
