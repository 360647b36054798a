package org.mmapqueue.spark.read.stream;

import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.OptionalLong;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.ConsumersOfQueries;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.read.plan.OffsetRanges;
import org.mmapqueue.spark.read.plan.OverDamage;
import org.mmapqueue.spark.source.LocalPartition;
import org.mmapqueue.spark.source.LocalPartitionLocation;
import org.mmapqueue.spark.source.ReadablePartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A partition in a local directory, with the query's consumer. The consumer of a query that cannot be restarted moves
 * forward only beside a consumer that lasts: a look at a queue must not free its records. Not thread-safe.
 */
final class LocalStreamPartition implements StreamPartition {
    private static final Logger LOG = LoggerFactory.getLogger(LocalStreamPartition.class);

    private final PartitionDirectory directory;
    /** The query's checkpoint. */
    private final String user;

    private final Path real;
    private final MmapQueue queue;
    private final LocalPartition records;
    private final Consumer consumer;
    private final boolean isNew;
    private final long mostHeld;
    private final boolean skipsDamage;
    private boolean startsAfterDamage;
    private boolean closed;

    /**
     * Opens a partition and its consumer; a new consumer starts at the log start.
     *
     * @param user the query's checkpoint, for error messages of other queries
     * @param skipsDamage whether the query starts after damage that hides its start; else that is an error
     * @throws IllegalStateException if another query or process uses the consumer
     */
    LocalStreamPartition(PartitionDirectory directory, String consumerName, String user, boolean skipsDamage) {
        this.directory = directory;
        this.user = user;
        this.skipsDamage = skipsDamage;
        real = PartitionDirectory.real(directory.directory());
        String other = ConsumersOfQueries.take(real.toString(), consumerName, user);
        if (other != null) {
            throw inUse(
                    consumerName,
                    "the query with checkpoint " + other + " in this process, pid "
                            + ProcessHandle.current().pid(),
                    null);
        }
        MmapQueue opened = null;
        boolean isOpen = false;
        try {
            opened = MmapQueue.openToRead(real);
            queue = opened;
            isNew = !opened.consumers().contains(consumerName);
            consumer = open(new LocalPartition(new LocalPartitionLocation(directory), opened), consumerName);
            labelConsumer(consumer, user);
            records = new LocalPartition(
                    new LocalPartitionLocation(directory),
                    opened,
                    () -> queue.overflows() ? consumer.committedOffset() : Long.MAX_VALUE);
            QueueStats stats = queue.stats();
            mostHeld = Math.max(0, stats.capacitySegments() / 2 - 1) * (long) stats.segmentSize();
            if (ConsumersOfQueries.isTemporary(consumerName) && !hasLastingConsumer()) {
                LOG.info(
                        "the query on {} cannot be restarted: while the queue has no other consumer, consumer {} frees"
                                + " no record, and producers wait when the queue is full",
                        directory.path(),
                        consumerName);
            }
            isOpen = true;
        } catch (LockedException e) {
            throw inUse(consumerName, e.pid() < 0 ? "another process of unknown pid" : "process " + e.pid(), e);
        } finally {
            if (!isOpen) {
                if (opened != null) {
                    opened.close();
                }
                ConsumersOfQueries.release(real.toString(), consumerName);
            }
        }
    }

    private Consumer open(LocalPartition partition, String name) {
        try {
            return partition.queue().consumer(name, StartAt.EARLIEST);
        } catch (CorruptException e) {
            return partition.queue().consumer(name, afterDamage(partition, StartAt.EARLIEST, e));
        }
    }

    // The first record after the damage that hides a start; throws the damage if it is not skipped.
    private StartAt afterDamage(LocalPartition partition, StartAt start, CorruptException damage) {
        startsAfterDamage = skipsDamage;
        if (!skipsDamage) {
            throw damage;
        }
        return switch (start.kind()) {
            case EARLIEST -> StartAt.offset(OverDamage.nextOffset(partition, OverDamage.firstOffset(partition, true)));
            case OFFSET -> StartAt.offset(OverDamage.nextOffset(partition, start.value()));
            case TIMESTAMP -> {
                Instant time = Instant.EPOCH.plus(start.value(), ChronoUnit.MICROS);
                OptionalLong found = OverDamage.find(partition, time, true);
                yield found.isPresent() ? StartAt.offset(found.getAsLong()) : StartAt.LATEST;
            }
            default -> throw damage;
        };
    }

    // The label identifies the query, for operators and drop_orphaned_consumers.
    private static void labelConsumer(Consumer consumer, String user) {
        if (consumer.name().equals(OffsetRanges.DEFAULT_CONSUMER)) {
            return; // default has no page, and so no label
        }
        try {
            consumer.label(ConsumersOfQueries.label(user));
        } catch (MmapQueueException e) {
            LOG.warn(
                    "the label of consumer {} could not be set to the query with checkpoint {}: {}",
                    consumer.name(),
                    user,
                    e.getMessage());
        }
    }

    private IllegalStateException inUse(String name, String holder, Exception cause) {
        return new IllegalStateException(
                "consumer " + name + " of the queue in " + directory.path() + " is in use by " + holder
                        + "; each query needs a consumer of its own: see option consumer",
                cause);
    }

    @Override
    public ReadablePartition records() {
        return records;
    }

    @Override
    public boolean isNew() {
        return isNew;
    }

    /**
     * The upper limit of a batch. A batch is retained until the next one is logged, or the query is idle for a second. So
     * the batch must leave room for new records in the ring, its partly filled first and last segment included. A ring
     * that overflows retains nothing for it.
     */
    @Override
    public long mostHeld() {
        return queue.overflows() ? Long.MAX_VALUE : mostHeld;
    }

    @Override
    public Optional<Holder> holder() {
        QueueStats stats = queue.stats();
        return stats.slowestConsumer().map(name -> new Holder(name, stats.writingPosition() - stats.lowWatermark()));
    }

    @Override
    public boolean mayBeginLate() {
        return startsAfterDamage;
    }

    @Override
    public String shortEnd() {
        return "so its last records were not durable when the machine failed";
    }

    /** The log end: later pushes take the offsets of the lost records. */
    @Override
    public long continuation(long position, long end) {
        return end;
    }

    private long held() {
        return consumer.committedOffset();
    }

    /** Whether a consumer other than this one outlives its program. */
    private boolean hasLastingConsumer() {
        return queue.consumers().stream()
                .anyMatch(each -> !each.equals(consumer.name()) && !ConsumersOfQueries.isTemporary(each));
    }

    @Override
    public void check(StartAt start) {
        if (start.kind() == StartAt.Kind.OFFSET) {
            long unused = checked(start.value());
        } else if (start.kind() == StartAt.Kind.TIMESTAMP) {
            long unused = offsetOf(start);
        }
    }

    @Override
    public long moveTo(StartAt start) {
        boolean isAlone = !hasLastingConsumer();
        if (isAlone && ConsumersOfQueries.isTemporary(consumer.name())) {
            return offsetOf(start);
        }
        long before = held();
        seekBeyondDamage(start);
        long after = held();
        if (isAlone && after > before) {
            LOG.warn(
                    "consumer {} begins at offset {} of the queue in {}, which has no other consumer: the records"
                            + " {}..{} are not retained any more",
                    consumer.name(),
                    after,
                    directory.path(),
                    before,
                    after - 1);
        }
        return after;
    }

    // Where a consumer that must not move would begin.
    private long offsetOf(StartAt start) {
        try {
            return switch (start.kind()) {
                case EARLIEST -> {
                    seek(start); // frees nothing
                    yield held();
                }
                case LATEST -> queue.endOffset();
                case COMMITTED -> held();
                case OFFSET -> checked(start.value());
                case TIMESTAMP ->
                    records.find(Instant.EPOCH.plus(start.value(), ChronoUnit.MICROS))
                            .orElse(queue.endOffset());
            };
        } catch (CorruptException e) {
            return offsetOf(afterDamage(records, start, e));
        }
    }

    private long checked(long offset) {
        long first = records.firstKnownOffset();
        long end = queue.endOffset();
        boolean isBefore = offset < first && !queue.overflows(); // else the seek looks in the archive
        if (isBefore || offset > end) {
            throw new OutOfRangeException("the queue in " + directory.path(), offset, first, end - 1);
        }
        return offset;
    }

    private void seekBeyondDamage(StartAt start) {
        try {
            seek(start);
        } catch (CorruptException e) {
            seek(afterDamage(records, start, e));
        }
    }

    private void seek(StartAt start) {
        try {
            consumer.seek(start);
        } catch (DroppedException e) {
            consumer.seek(start); // again, as DroppedException is thrown once for each loss
        }
    }

    @Override
    public long hold(long from) {
        try {
            consumer.seek(StartAt.COMMITTED); // throws DroppedException if the writer has dropped records
        } catch (DroppedException e) {
            if (e.last() >= from) {
                LOG.warn("partition {} of the queue in {}: {}", directory.id(), directory.path(), e.getMessage());
            }
        } catch (ClosedException e) {
            throw new IllegalStateException(
                    "consumer " + consumer.name() + " of the queue in " + directory.path()
                            + " was deleted or closed in this process while the query with checkpoint " + user
                            + " used it; the next start of the query makes it again, and continues from the checkpoint",
                    e);
        }
        if (held() <= from) {
            return from;
        }
        try {
            seekBeyondDamage(StartAt.offset(from));
            return from;
        } catch (OutOfRangeException e) {
            seekBeyondDamage(StartAt.EARLIEST);
            return held();
        }
    }

    @Override
    public boolean retains(long before) {
        return before > held()
                && before <= queue.endOffset()
                && (!ConsumersOfQueries.isTemporary(consumer.name()) || hasLastingConsumer());
    }

    @Override
    public void release(long before) {
        if (retains(before)) {
            try {
                seek(StartAt.offset(before));
            } catch (OutOfRangeException | CorruptException e) {
                // The records were dropped or lost since: the next batch reports the loss. Or a damaged record header
                // hides the offset: a commit beyond its segment acks it.
                LOG.warn(
                        "partition {} of the queue in {} cannot be acked up to offset {}: {}",
                        directory.id(),
                        directory.path(),
                        before,
                        e.getMessage());
            }
        }
    }

    @Override
    public void forget() {
        try {
            queue.deleteConsumer(consumer.name());
        } catch (MmapQueueException e) {
            LOG.warn(
                    "consumer {} of the queue in {} could not be deleted, and retains records: {}",
                    consumer.name(),
                    directory.path(),
                    e.getMessage());
        } finally {
            close();
        }
    }

    @Override
    public void abandon() {
        try {
            close();
        } catch (MmapQueueException e) {
            LOG.warn("the former queue of {} could not be closed: {}", directory.path(), e.getMessage());
        }
    }

    @Override
    public void close() {
        if (closed) {
            return; // another query may own the consumer now
        }
        closed = true;
        try {
            consumer.close();
        } finally {
            queue.close();
            ConsumersOfQueries.release(real.toString(), consumer.name());
        }
    }
}
