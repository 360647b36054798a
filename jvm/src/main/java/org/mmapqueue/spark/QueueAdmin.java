package org.mmapqueue.spark;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.common.ConsumersOfQueries;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.common.RunningSession;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.spark.source.LocalLocation;
import org.mmapqueue.spark.source.LocalPartition;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;
import org.mmapqueue.spark.write.sink.WritablePartitions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Administration of a queue and of its consumers. Every call opens the queue, or shares the queue that this process has
 * open, and closes it; procedures return rows. A consumer that this process did not own before the call is released
 * after it. Thread-safe.
 */
final class QueueAdmin {
    private static final Logger LOG = LoggerFactory.getLogger(QueueAdmin.class);

    /** The limits of a pop. */
    private static final int RECORDS = 1024;

    private static final long BYTES = 1 << 20;
    /** The maximum wait for a record that only the archive of the queue has. */
    private static final Duration LOADING = Duration.ofMinutes(1);

    private final Path root;
    private final Options options;

    /**
     * Administration of one queue.
     *
     * @param root the queue's directory
     * @param options configuration for calls that open the queue for writing
     */
    QueueAdmin(Path root, Options options) {
        this.root = root;
        this.options = options;
    }

    /** An open partition. */
    private record Open(int id, Path directory, MmapQueue queue) {}

    /**
     * Acks all records up to and including one. Later records stay as they are: acked, in flight or neither.
     *
     * @param partition the partition's number; null if the queue has one partition
     * @return partition, consumer, committed offset
     * @throws IllegalArgumentException if the consumer or the partition does not exist
     * @throws IllegalStateException if a streaming query uses the consumer
     * @throws org.mmapqueue.errors.OutOfRangeException if the log ends before this offset
     */
    List<Object[]> ackUpTo(String consumer, long offset, Integer partition) {
        return rows(onlyOne(partition, "offset " + offset), each -> refuseInUse(each, consumer), each -> {
            boolean hasLaterAcks =
                    each.queue().ackedRanges(consumer).stream().anyMatch(acked -> acked.end() - 1 > offset);
            onConsumer(each, consumer, (own, shared) -> {
                long end = each.queue().endOffset();
                if (offset >= end) {
                    throw new OutOfRangeException(
                            "no record to ack", offset, each.queue().firstOffset(), end - 1);
                }
                if (shared) {
                    own.ackUpTo(offset); // records after the offset stay in flight if they were popped
                } else if (offset >= own.committedOffset()) {
                    ackUpTo(own, offset, hasLaterAcks);
                }
            });
            return Stream.<Object[]>of(position(each, consumer));
        });
    }

    // Acks popped records or others, where no program has the consumer open. A seek forgets the acks of later records.
    private static void ackUpTo(Consumer own, long offset, boolean hasLaterAcks) {
        try {
            if (hasLaterAcks) {
                popAndAck(own, offset);
                return;
            }
        } catch (CorruptException e) {
            LOG.warn("records that consumer {} has acked after offset {} are redelivered", own.name(), offset, e);
        }
        own.seek(StartAt.offset(offset + 1));
    }

    // Pops the records again, as the consumer did before it acked later ones, and releases those that are not acked.
    private static void popAndAck(Consumer own, long offset) {
        Duration wait = Duration.ZERO;
        while (own.readOffset() <= offset) {
            long before = own.readOffset();
            List<Long> later = new ArrayList<>();
            try {
                int unused = own.popBatch(RECORDS, BYTES, wait, (popped, timestamp, data, start, length, attempts) -> {
                    if (popped > offset) {
                        later.add(popped);
                    }
                });
            } catch (InterruptedException e) {
                throw StoppedQuery.interrupted("records were acked", e);
            }
            own.release(later.stream().mapToLong(Long::longValue).toArray());
            long passed = own.readOffset();
            if (passed > before) {
                own.ackUpTo(Math.min(offset, passed - 1));
            } else if (!wait.isZero()) {
                throw new IllegalStateException("record " + before + " of consumer " + own.name() + " is not acked, and"
                        + " could not be read from the archive of its queue");
            }
            wait = passed > before ? Duration.ZERO : LOADING;
        }
    }

    /**
     * Seeks a consumer, in no partition unless it is free in all of them.
     *
     * @param partition the partition's number; null for all partitions
     * @return partition, consumer, committed offset
     */
    List<Object[]> seek(String consumer, StartAt start, Integer partition) {
        return rows(partitionFor(partition, start), each -> refuseInUse(each, consumer), each -> {
            onConsumer(each, consumer, (own, shared) -> own.seek(start));
            return Stream.<Object[]>of(position(each, consumer));
        });
    }

    /**
     * Creates a consumer in each partition that does not have it.
     *
     * @param partition the partition's number; null for all partitions
     * @return partition, consumer, committed offset
     */
    List<Object[]> create(String consumer, StartAt start, Integer partition) {
        return rows(partitionFor(partition, start), each -> {
            each.queue().createConsumer(consumer, start);
            return Stream.<Object[]>of(position(each, consumer));
        });
    }

    /**
     * Deletes a consumer, in no partition unless it is free in all of them; the records that it retained may be
     * reclaimed.
     *
     * @param partition the partition's number; null for all partitions that have the consumer
     * @return partition, consumer
     */
    List<Object[]> delete(String consumer, Integer partition) {
        Predicate<Open> hasIt = each -> each.queue().consumers().contains(consumer);
        List<Object[]> deleted = rows(
                partition,
                each -> {
                    if (hasIt.test(each)) {
                        refuseInUse(each, consumer);
                    }
                },
                each -> {
                    if (!hasIt.test(each)) {
                        return Stream.empty();
                    }
                    each.queue().deleteConsumer(consumer);
                    return Stream.<Object[]>of(new Object[] {each.id(), consumer});
                });
        if (deleted.isEmpty()) {
            throw new IllegalArgumentException(
                    "consumer " + consumer + ": the queue in " + root + " has no consumer of this name");
        }
        return deleted;
    }

    /**
     * Returns the consumers and their lag.
     *
     * @return partition, consumer, committed offset, next offset to read, log end, lag in records, bytes and
     *     microseconds, records in flight, the label or null
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
                one.lagTime().map(TimeUnit.MICROSECONDS::convert).orElse(0L),
                one.unacked(),
                one.label().orElse(null)
            });
        });
    }

    /**
     * Deletes the consumers of queries with checkpoints that do not exist any more, or that no restart will use.
     *
     * @param isDry true to list the consumers without deleting them
     * @return partition, consumer, the checkpoint, whether the consumer was deleted
     */
    List<Object[]> dropOrphans(boolean isDry) {
        Checkpoints checkpoints = new Checkpoints(RunningSession.context().hadoopConfiguration());
        return rows(null, each -> {
            List<Object[]> orphans = new ArrayList<>();
            for (ConsumerStats one : each.queue().consumerStats()) {
                Optional<String> checkpoint =
                        one.label().flatMap(ConsumersOfQueries::sourceOf).map(Checkpoints::rootOf);
                if (checkpoint.isPresent()
                        && !isInUse(each, one.name())
                        && (ConsumersOfQueries.isTemporary(one.name()) || !checkpoints.isThere(checkpoint.get()))) {
                    orphans.add(
                            new Object[] {each.id(), one.name(), checkpoint.get(), !isDry && drop(each, one.name())});
                }
            }
            return orphans.stream();
        });
    }

    private static boolean isInUse(Open partition, String consumer) {
        return ConsumersOfQueries.queryOf(
                        PartitionDirectory.real(partition.directory()).toString(), consumer)
                != null;
    }

    // A consumer that another process owns is kept.
    private static boolean drop(Open partition, String consumer) {
        try {
            partition.queue().deleteConsumer(consumer);
            return true;
        } catch (LockedException | ConfigException e) {
            LOG.warn(
                    "consumer {} of the queue in {} was not deleted: {}",
                    consumer,
                    partition.directory(),
                    e.getMessage());
            return false;
        }
    }

    /**
     * Deletes the segment files that hold no retained record.
     *
     * @return partition, bytes of disk space that were released
     * @throws org.mmapqueue.errors.LockedException if another process writes the queue
     */
    List<Object[]> gc() {
        List<Object[]> rows = new ArrayList<>();
        onWritable(partitions -> partitions.forEach(
                each -> rows.add(new Object[] {each.id(), each.queue().gc()})));
        return rows;
    }

    /**
     * Acks all records that are in the queue at the call, for all consumers. No partition is purged unless all
     * consumers are free.
     *
     * @throws org.mmapqueue.errors.LockedException if another process writes the queue, or owns a consumer
     * @throws IllegalStateException if a consumer is open in this process: it may have read records ahead
     */
    void purge() {
        onWritable(partitions -> {
            List<Consumer> owned = new ArrayList<>();
            try {
                for (Open each : partitions) {
                    for (String name : each.queue().consumers()) {
                        refuseQuery(each, name);
                        refuseOwned(each, name);
                        owned.add(each.queue().consumer(name, StartAt.EARLIEST));
                    }
                }
                partitions.forEach(each -> each.queue().purge());
            } finally {
                Closing.all(owned, Consumer::leave);
            }
        });
    }

    private static void refuseOwned(Open partition, String consumer) {
        if (partition.queue().owns(consumer)) {
            throw new IllegalStateException("consumer " + consumer + " of the queue in " + partition.directory()
                    + " is open in this process: close it first, or call purge() of the handle that has it open");
        }
    }

    private interface PartitionsWork {
        void run(List<Open> partitions);
    }

    private void onWritable(PartitionsWork work) {
        List<PartitionDirectory> directories = PartitionDirectory.find(root); // throws if there is no queue
        List<MmapQueue> queues = WritablePartitions.open(root, options);
        try {
            List<Open> open = new ArrayList<>();
            for (PartitionDirectory each : directories) {
                open.add(new Open(each.id(), each.directory(), queues.get(each.id())));
            }
            work.run(open);
        } finally {
            Closing.all(queues, MmapQueue::close);
        }
    }

    /**
     * Reads and verifies every retained record.
     *
     * @return one row for each damage, as {@link Checking#check} returns it
     */
    List<Object[]> verify() {
        return rows(null, each -> Checking.check(each.id(), each.queue()).stream());
    }

    private List<Object[]> rows(Integer partition, Function<Open, Stream<Object[]>> work) {
        return rows(partition, each -> {}, work);
    }

    private interface Check {
        void run(Open partition);
    }

    // The rows of all chosen partitions, or of one. All of them pass the check before the first one is changed.
    private List<Object[]> rows(Integer partition, Check check, Function<Open, Stream<Object[]>> work) {
        try (OpenPartitions open = new LocalLocation(root).open()) {
            if (partition != null && !open.ids().contains(partition)) {
                throw new IllegalArgumentException(
                        "partition " + partition + ": the queue in " + root + " has " + text(open.ids()));
            }
            List<Open> chosen = new ArrayList<>();
            for (ReadablePartition each : open.all()) {
                if (partition == null || partition == each.id()) {
                    LocalPartition local = (LocalPartition) each;
                    chosen.add(new Open(each.id(), local.location().directory().directory(), local.queue()));
                }
            }
            chosen.forEach(check::run);
            List<Object[]> rows = new ArrayList<>();
            chosen.forEach(each -> work.apply(each).forEach(rows::add));
            return rows;
        }
    }

    // The partition for an offset, which is valid in one partition only.
    private Integer partitionFor(Integer partition, StartAt start) {
        return start.kind() == StartAt.Kind.OFFSET ? onlyOne(partition, "offset " + start.value()) : partition;
    }

    private Integer onlyOne(Integer partition, String what) {
        SortedSet<Integer> ids = new TreeSet<>();
        PartitionDirectory.find(root).forEach(each -> ids.add(each.id()));
        if (partition == null && ids.size() > 1) {
            throw new IllegalArgumentException(
                    what + ": a partition is required, as the queue in " + root + " has " + text(ids));
        }
        return partition;
    }

    private static String text(SortedSet<Integer> ids) {
        return ids.last() == ids.size() - 1 ? "partitions 0 to " + ids.last() : "the partitions " + ids;
    }

    private interface ConsumerWork {
        void run(Consumer consumer, boolean shared);
    }

    private static void onConsumer(Open partition, String name, ConsumerWork work) {
        MmapQueue queue = partition.queue();
        boolean shared = queue.owns(name);
        Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
        try {
            try {
                work.run(consumer, shared);
            } catch (DroppedException e) {
                work.run(consumer, shared); // again, as DroppedException is thrown once for each loss
            }
        } finally {
            if (!shared) {
                consumer.leave(); // another handle may have opened it since
            }
        }
    }

    // Throws if there is no such consumer, or a query or another process uses it.
    private static void refuseInUse(Open partition, String consumer) {
        List<String> known = partition.queue().consumers();
        if (!known.contains(consumer)) {
            throw new IllegalArgumentException("consumer " + consumer + ": the queue in " + partition.directory()
                    + " has no consumer of this name, but " + known);
        }
        refuseQuery(partition, consumer);
        partition.queue().checkFree(consumer);
    }

    // Throws if a query uses the consumer: it would continue, and ask for records that are no longer retained.
    private static void refuseQuery(Open partition, String consumer) {
        String query = ConsumersOfQueries.queryOf(
                PartitionDirectory.real(partition.directory()).toString(), consumer);
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
