package org.mmapqueue.spark;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.spark.common.ConsumersOfQueries;
import org.mmapqueue.spark.common.OpenPartitions;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.sink.WritablePartitions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an administrator does to a queue and to its consumers. Every call returns rows, and opens the queue for its own
 * time only; what this process has open is shared. A consumer that nobody here owns is given back. Any number of
 * threads.
 */
final class QueueAdmin {
    private static final Logger LOG = LoggerFactory.getLogger(QueueAdmin.class);

    private final Path root;
    private final Options options;

    /**
     * For one queue.
     *
     * @param root its directory
     * @param options how to open it where it has to be written
     */
    QueueAdmin(Path root, Options options) {
        this.root = root;
        this.options = options;
    }

    /** A partition that is open. */
    private record Open(int id, Path directory, MmapQueue queue) {}

    /**
     * Commits everything up to and including a record.
     *
     * @param partition null for the only one
     * @return partition, consumer, committed offset
     * @throws IllegalArgumentException for a consumer or a partition that is not there
     * @throws IllegalStateException while a streaming query uses the consumer
     * @throws org.mmapqueue.errors.OutOfRangeException when there is no such record yet
     */
    List<Object[]> ack(String consumer, long offset, Integer partition) {
        return rows(onlyOne(partition, "offset " + offset), each -> {
            onConsumer(each, consumer, (own, shared) -> {
                if (shared) {
                    own.ack(offset); // what it has popped since, and not acked, stays in flight
                } else if (offset >= own.committedOffset()) {
                    own.seek(StartAt.offset(offset + 1));
                }
            });
            return Stream.<Object[]>of(position(each, consumer));
        });
    }

    /**
     * Moves a consumer.
     *
     * @param partition null for all of them
     * @return partition, consumer, committed offset
     */
    List<Object[]> seek(String consumer, StartAt place, Integer partition) {
        return rows(forPlace(partition, place), each -> {
            onConsumer(each, consumer, (own, shared) -> own.seek(place));
            return Stream.<Object[]>of(position(each, consumer));
        });
    }

    /**
     * Makes a consumer where it is not there.
     *
     * @param partition null for all of them
     * @return partition, consumer, committed offset
     */
    List<Object[]> create(String consumer, StartAt start, Integer partition) {
        return rows(forPlace(partition, start), each -> {
            each.queue().createConsumer(consumer, start);
            return Stream.<Object[]>of(position(each, consumer));
        });
    }

    /**
     * Deletes a consumer, and gives the space free that it held.
     *
     * @param partition null for all that have it
     * @return partition, consumer
     */
    List<Object[]> delete(String consumer, Integer partition) {
        List<Object[]> deleted = rows(partition, each -> {
            if (!each.queue().consumers().contains(consumer)) {
                return Stream.empty();
            }
            refuseQuery(each, consumer);
            each.queue().deleteConsumer(consumer);
            return Stream.<Object[]>of(new Object[] {each.id(), consumer});
        });
        if (deleted.isEmpty()) {
            throw new IllegalArgumentException(
                    "consumer " + consumer + ": the queue in " + root + " has none of this" + " name");
        }
        return deleted;
    }

    /**
     * The consumers, and how far they are behind.
     *
     * @return partition, consumer, committed offset, offset that is read next, end of the queue, lag in records, bytes
     *     and microseconds, records in flight, the label or null
     */
    List<Object[]> consumers() {
        return rows(null, each -> {
            List<ConsumerStats> stats = each.queue().consumerStats();
            long end = each.queue().endOffset();
            return stats.stream().map(one -> new Object[] {
                each.id(),
                one.name(),
                one.committedOffset(),
                one.readOffset(),
                end,
                one.lagRecords(),
                one.lagBytes(),
                one.lagMicros(),
                one.unacked(),
                one.label().isEmpty() ? null : one.label()
            });
        });
    }

    /**
     * Deletes the consumers of queries whose checkpoints are gone.
     *
     * @param isDry whether nothing is deleted
     * @return partition, consumer, the checkpoint, whether the consumer was deleted
     */
    List<Object[]> dropOrphans(boolean isDry) {
        Checkpoints checkpoints = new Checkpoints(SparkContext.getOrCreate().hadoopConfiguration());
        return rows(null, each -> {
            List<Object[]> orphans = new ArrayList<>();
            for (ConsumerStats one : each.queue().consumerStats()) {
                Optional<String> checkpoint =
                        ConsumersOfQueries.sourceOf(one.label()).map(Checkpoints::rootOf);
                if (checkpoint.isPresent() && !isInUse(each, one.name()) && !checkpoints.isThere(checkpoint.get())) {
                    orphans.add(
                            new Object[] {each.id(), one.name(), checkpoint.get(), !isDry && drop(each, one.name())});
                }
            }
            return orphans.stream();
        });
    }

    private static boolean isInUse(Open partition, String consumer) {
        return ConsumersOfQueries.queryOf(PartitionDirectory.real(partition.directory()), consumer) != null;
    }

    // One that another process owns, or that may not be deleted, stays.
    private static boolean drop(Open partition, String consumer) {
        try {
            partition.queue().deleteConsumer(consumer);
            return true;
        } catch (LockedException | ConfigException e) {
            LOG.warn(
                    "consumer {} of the queue in {} is not dropped: {}",
                    consumer,
                    partition.directory(),
                    e.getMessage());
            return false;
        }
    }

    /**
     * Deletes the files that hold nothing which is retained.
     *
     * @return partition, bytes that the disk has got back
     * @throws org.mmapqueue.errors.LockedException when another process writes the queue
     */
    List<Object[]> gc() {
        List<Object[]> rows = new ArrayList<>();
        PartitionDirectory.find(root); // or there is nothing to be opened
        List<MmapQueue> open = WritablePartitions.open(root, options);
        try {
            for (int id = 0; id < open.size(); id++) {
                rows.add(new Object[] {id, open.get(id).gc()});
            }
        } finally {
            open.forEach(MmapQueue::close);
        }
        return rows;
    }

    /**
     * Reads every record that is retained, and checks it.
     *
     * @return one row for each damaged place, as {@link Checking#check} gives it
     */
    List<Object[]> verify() {
        return rows(null, each -> Checking.check(each.id(), each.queue()).stream());
    }

    private List<Object[]> rows(Integer partition, Function<Open, Stream<Object[]>> work) {
        try (OpenPartitions open = new OpenPartitions(root)) {
            if (partition != null && (partition < 0 || partition >= open.count())) {
                throw new IllegalArgumentException(
                        "partition " + partition + ": the queue in " + root + " has 0 to " + (open.count() - 1));
            }
            List<Object[]> rows = new ArrayList<>();
            for (PartitionDirectory each : open.directories()) {
                if (partition == null || partition == each.id()) {
                    work.apply(new Open(each.id(), each.directory(), open.queue(each.id())))
                            .forEach(rows::add);
                }
            }
            return rows;
        }
    }

    // An offset means something in one partition alone.
    private Integer forPlace(Integer partition, StartAt place) {
        return place.kind() == StartAt.Kind.OFFSET ? onlyOne(partition, "offset " + place.value()) : partition;
    }

    private Integer onlyOne(Integer partition, String what) {
        int count = PartitionDirectory.find(root).size();
        if (partition == null && count > 1) {
            throw new IllegalArgumentException(
                    what + ": say in which partition, as the queue in " + root + " has 0 to " + (count - 1));
        }
        return partition;
    }

    private interface ConsumerWork {
        void run(Consumer consumer, boolean shared);
    }

    private static void onConsumer(Open partition, String name, ConsumerWork work) {
        MmapQueue queue = partition.queue();
        List<String> known = queue.consumers();
        if (!known.contains(name)) {
            throw new IllegalArgumentException("consumer " + name + ": the queue in " + partition.directory()
                    + " has none of this name, but " + known);
        }
        refuseQuery(partition, name);
        boolean shared = queue.owns(name);
        Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
        try {
            try {
                work.run(consumer, shared);
            } catch (DroppedException e) {
                work.run(consumer, shared); // it is told once
            }
        } finally {
            if (!shared) {
                consumer.close();
            }
        }
    }

    // It would go on, and ask for records that nobody holds any more.
    private static void refuseQuery(Open partition, String consumer) {
        String query = ConsumersOfQueries.queryOf(PartitionDirectory.real(partition.directory()), consumer);
        if (query != null) {
            throw new IllegalStateException("consumer " + consumer + " of the queue in " + partition.directory()
                    + " is in use by the query with checkpoint " + query + ": stop it first");
        }
    }

    private static Object[] position(Open partition, String consumer) {
        long committed = partition.queue().consumerStats().stream()
                .filter(each -> each.name().equals(consumer))
                .findFirst()
                .orElseThrow()
                .committedOffset();
        return new Object[] {partition.id(), consumer, committed};
    }
}
