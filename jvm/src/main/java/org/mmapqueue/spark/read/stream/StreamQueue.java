package org.mmapqueue.spark.read.stream;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.IntFunction;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.read.stream.StreamLimits.Range;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The partitions that a query reads, what its checkpoint says of them, and what to do when the two do not go together.
 * Not thread-safe.
 */
final class StreamQueue implements StreamLimits.Bytes, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StreamQueue.class);

    private final Path root;
    private final CheckpointFile checkpoint;
    private final String consumerName;
    private final boolean failOnDataLoss;
    private final SortedMap<Integer, StreamPartition> partitions = new TreeMap<>();
    /** Those whose queue is another one than the checkpoint tells of. */
    private final Set<Integer> replaced = new HashSet<>();
    /** The last loss of each partition that was told of. */
    private final Map<Integer, String> said = new HashMap<>();
    /** Null until a new query has been told where to begin. */
    private StreamOrigin origin;

    /**
     * Opens the partitions that are there.
     *
     * @param consumerName holds what the query has not committed
     * @throws IllegalArgumentException when there is no queue
     * @throws IllegalStateException when the consumer is in use
     */
    StreamQueue(Path root, CheckpointFile checkpoint, String consumerName, boolean failOnDataLoss) {
        this.root = root;
        this.checkpoint = checkpoint;
        this.consumerName = consumerName;
        this.failOnDataLoss = failOnDataLoss;
        this.origin = checkpoint.read().orElse(null);
        boolean done = false;
        try {
            lookForPartitions();
            done = true;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    /**
     * Looks whether the queues that are open are the ones that lie there. One that was moved away is still whole for who
     * has it open; the query would read it on, or wait for records that come to another one.
     *
     * @throws IllegalStateException when one has been replaced and failOnDataLoss is true
     */
    void checkIdentity() {
        for (StreamPartition each : List.copyOf(partitions.values())) {
            Optional<UUID> inPlace = MmapQueue.idIn(each.directory().directory());
            if (!inPlace.equals(Optional.of(each.id()))) {
                replace(each, inPlace);
            }
        }
    }

    private void replace(StreamPartition former, Optional<UUID> inPlace) {
        int id = former.directory().id();
        String what = "partition " + id + " of the queue in " + root + " was replaced while the query with checkpoint "
                + checkpoint + " was reading it: "
                + inPlace.map(now -> "the queue that is there now has the id " + now)
                        .orElse("there is none now") + ", the one that it was reading has the id " + former.id();
        if (failOnDataLoss) {
            throw new IllegalStateException(
                    what + ". With option failOnDataLoss = false it goes on with what is there");
        }
        LOG.warn("{}; it goes on with what is there, as failOnDataLoss is false", what);
        partitions.remove(id);
        former.abandon();
        if (inPlace.isEmpty()) {
            return;
        }
        StreamPartition next = open(former.directory());
        partitions.put(id, next);
        if (!next.id().equals(inPlace.get())) {
            throw new IllegalStateException(what + ", and this process has it open elsewhere, so that the one that is"
                    + " there can not be opened: close it first");
        }
        if (origin != null) {
            compare(id);
        }
    }

    private StreamPartition open(PartitionDirectory directory) {
        return new StreamPartition(directory, consumerName, checkpoint.toString());
    }

    /** Opens partitions that have been added. Their records are read from the oldest one on. */
    @SuppressWarnings("ReferenceEquality") // each change makes a new object
    void lookForPartitions() {
        StreamOrigin before = origin;
        for (PartitionDirectory each : PartitionDirectory.find(root)) {
            if (!partitions.containsKey(each.id())) {
                partitions.put(each.id(), open(each));
                if (origin != null) {
                    compare(each.id());
                }
            }
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
            if (first > 0) {
                lost(id, 0, first, "they were reclaimed before the query saw the partition, which is new to it");
            }
            origin = origin.with(id, new StreamOrigin.Part(partition.id(), first));
        } else if (!known.queue().equals(partition.id())) {
            replaced.add(id);
        }
    }

    /**
     * Where the query begins; found once, and kept in the checkpoint.
     *
     * @param place where a new query begins in a partition
     * @throws IllegalArgumentException when there is no such place
     */
    PartitionOffsets begin(IntFunction<StartAt> place) {
        if (origin == null) {
            StreamOrigin begun = new StreamOrigin(new TreeMap<>());
            for (StreamPartition each : partitions.values()) {
                int id = each.directory().id();
                try {
                    begun = begun.with(id, new StreamOrigin.Part(each.id(), each.moveTo(place.apply(id))));
                } catch (OutOfRangeException | ConfigException e) {
                    throw new IllegalArgumentException("partition " + id + ": " + e.getMessage(), e);
                }
            }
            checkpoint.write(begun);
            origin = begun;
        }
        SortedMap<Integer, Long> starts = new TreeMap<>();
        origin.parts().forEach((id, part) -> starts.put(id, part.start()));
        return new PartitionOffsets(starts);
    }

    /** Whether the checkpoint says where the query begins, so that it may be started again. */
    boolean hasBegun() {
        return origin != null;
    }

    /** The partitions that are open, by number. */
    SortedMap<Integer, StreamPartition> partitions() {
        return partitions;
    }

    /** Where the query has begun in a partition. */
    long start(int id) {
        StreamOrigin.Part part = origin == null ? null : origin.parts().get(id);
        return part == null ? 0 : part.start();
    }

    /** The ends now. */
    PartitionOffsets ends() {
        SortedMap<Integer, Long> ends = new TreeMap<>();
        partitions.forEach((id, partition) -> ends.put(id, partition.queue().endOffset()));
        return new PartitionOffsets(ends);
    }

    /**
     * What there is to read.
     *
     * @param from where the query stands
     * @param ends nothing behind them counts
     * @return by partition; a range that begins elsewhere than the query stands has lost what is between the two
     * @throws IllegalStateException when something is lost and failOnDataLoss is true
     */
    SortedMap<Integer, Range> there(PartitionOffsets from, PartitionOffsets ends) {
        SortedMap<Integer, Range> there = new TreeMap<>();
        from.map().forEach((id, offset) -> {
            if (!partitions.containsKey(id)) {
                lost(id, offset, Long.MAX_VALUE, "the partition is not there any more");
                there.put(id, new Range(offset, offset));
            }
        });
        partitions.forEach((id, partition) ->
                there.put(id, there(partition, from.of(id, start(id)), ends.of(id, Long.MAX_VALUE))));
        return there;
    }

    private Range there(StreamPartition partition, long from, long most) {
        int id = partition.directory().id();
        if (replaced.contains(id)) {
            long first = partition.moveTo(StartAt.EARLIEST);
            lostFormer(id, from);
            if (from != first) {
                return new Range(first, first); // the batch that ends here leads from the one queue to the other
            }
            adopt(partition, first);
        }
        long end = partition.queue().endOffset();
        if (from > end) {
            lost(
                    id,
                    end,
                    from,
                    "the queue ends with offset " + end + ", so its last records were not on the disk when"
                            + " the machine failed");
            return new Range(end, end);
        }
        long first = partition.hold(from);
        if (first > from) {
            lost(id, from, first, "they are not retained any more");
        }
        return new Range(first, Math.max(first, Math.min(end, most)));
    }

    // Only once the query's own log says that it stands there: before that a restart must find the difference again.
    private void adopt(StreamPartition partition, long first) {
        int id = partition.directory().id();
        origin = origin.with(id, new StreamOrigin.Part(partition.id(), first));
        checkpoint.write(origin);
        replaced.remove(id);
    }

    /**
     * What is left to read of a batch.
     *
     * @param from its first offset
     * @param to the offset behind its last one
     * @return all of it, unless something is lost
     * @throws IllegalStateException when something is lost and failOnDataLoss is true
     */
    Range readable(int id, long from, long to) {
        Range nothing = new Range(to, to);
        if (to <= from) {
            return nothing;
        }
        StreamPartition partition = partitions.get(id);
        if (partition == null) {
            lost(id, from, to, "the partition is not there any more");
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
        long end = partition.queue().endOffset();
        if (to > end) {
            lost(
                    id,
                    Math.max(from, end),
                    to,
                    "the queue ends with offset " + end + ", so its last records were not on"
                            + " the disk when the machine failed");
        }
        return first >= to ? nothing : new Range(first, Math.max(first, Math.min(to, end)));
    }

    @Override
    public long of(int partition, long from, long to) {
        return partitions.get(partition).queue().bytes(from, to);
    }

    @Override
    public long most(int partition) {
        return partitions.get(partition).mostHeld();
    }

    /** Nothing before these offsets will be asked for again. */
    void release(PartitionOffsets before) {
        before.map().forEach((id, offset) -> {
            StreamPartition partition = partitions.get(id);
            if (partition != null && !replaced.contains(id)) {
                partition.release(offset);
            }
        });
    }

    private void lostFormer(int id, long from) {
        if (from > 0) {
            lost(
                    id,
                    from,
                    Long.MAX_VALUE,
                    "the queue was deleted and made again, and is another one: "
                            + partitions.get(id).id() + " instead of "
                            + origin.parts().get(id).queue());
        }
    }

    private void lost(int id, long from, long to, String why) {
        String range = to == Long.MAX_VALUE ? "from " + from + " on" : from + ".." + (to - 1);
        String what = "partition " + id + " of the queue in " + root + " has not got the records with offsets " + range
                + " any more, which the query with checkpoint " + checkpoint + " is to read: " + why;
        if (failOnDataLoss) {
            throw new IllegalStateException(what + ". With option failOnDataLoss = false it goes on without them");
        }
        if (!what.equals(said.put(id, what))) { // not at each trigger
            LOG.warn("{}; it goes on without them, as failOnDataLoss is false", what);
        }
    }

    /** Ends the query for good: what its consumer has held is free. */
    void forget() {
        partitions.values().forEach(StreamPartition::forget);
        partitions.clear();
    }

    /** Gives all back; consumers stay where they are, and hold what the checkpoint may ask for. */
    @Override
    public void close() {
        partitions.values().forEach(StreamPartition::close);
        partitions.clear();
    }
}
