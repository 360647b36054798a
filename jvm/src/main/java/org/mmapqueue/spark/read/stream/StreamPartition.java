package org.mmapqueue.spark.read.stream;

import java.nio.file.Path;
import java.util.UUID;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.ConsumersOfQueries;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.read.plan.OffsetRanges;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A partition that a query reads, open on the driver, with the query's consumer: records from the consumer's committed
 * position on are not reclaimed. Not thread-safe.
 */
final class StreamPartition implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(StreamPartition.class);

    private final PartitionDirectory directory;
    private final Path real;
    private final MmapQueue queue;
    private final Consumer consumer;
    private final long mostHeld;
    private boolean closed;

    /**
     * Opens a partition and takes its consumer up; one that is not there is made at the oldest record.
     *
     * @param user who uses the consumer, for the error that others get
     * @throws IllegalStateException when another query, or another process, uses the consumer
     */
    StreamPartition(PartitionDirectory directory, String consumerName, String user) {
        this.directory = directory;
        real = PartitionDirectory.real(directory.directory());
        String other = ConsumersOfQueries.take(real, consumerName, user);
        if (other != null) {
            throw inUse(
                    consumerName,
                    "the query with checkpoint " + other + " in this process, pid "
                            + ProcessHandle.current().pid(),
                    null);
        }
        MmapQueue opened = null;
        Consumer own = null;
        try {
            opened = MmapQueue.openToRead(real);
            own = opened.consumer(consumerName, StartAt.EARLIEST);
            sayCheckpoint(own, user);
        } catch (LockedException e) {
            throw inUse(
                    consumerName, e.pid() < 0 ? "another process, whose pid is not known" : "process " + e.pid(), e);
        } finally {
            if (own == null) {
                if (opened != null) {
                    opened.close();
                }
                ConsumersOfQueries.giveBack(real, consumerName);
            }
        }
        queue = opened;
        consumer = own;
        QueueStats stats = queue.stats();
        mostHeld = Math.max(0, stats.capacitySegments() / 2 - 1) * (long) stats.segmentSize();
    }

    // So that people, and drop_orphaned_consumers, know whose it is when the query is gone.
    private static void sayCheckpoint(Consumer consumer, String user) {
        if (consumer.name().equals(OffsetRanges.DEFAULT_CONSUMER)) {
            return; // it has no page for that
        }
        try {
            consumer.label(ConsumersOfQueries.label(user));
        } catch (MmapQueueException e) {
            LOG.warn(
                    "consumer {} does not say that it is that of the query with checkpoint {}: {}",
                    consumer.name(),
                    user,
                    e.getMessage());
        }
    }

    private IllegalStateException inUse(String name, String holder, Exception cause) {
        return new IllegalStateException(
                "consumer " + name + " of the queue in " + directory.path() + " is in use by " + holder
                        + "; two queries need a consumer each: see option consumer",
                cause);
    }

    PartitionDirectory directory() {
        return directory;
    }

    MmapQueue queue() {
        return queue;
    }

    /**
     * The most bytes of a batch. A batch is held until the next one is logged, and that needs records which are pushed
     * after it; so it must leave them room in the ring, those included that share a segment with its ends.
     */
    long mostHeld() {
        return mostHeld;
    }

    UUID id() {
        return queue.id();
    }

    /** The first offset that is held. */
    long held() {
        return consumer.committedOffset();
    }

    /**
     * Moves the consumer, back or on.
     *
     * @return the offset where it stands then
     * @throws OutOfRangeException when there is no such record
     * @throws ConfigException for a time in a queue that stores no timestamps
     */
    long moveTo(StartAt place) {
        try {
            consumer.seek(place);
        } catch (DroppedException e) {
            consumer.seek(place); // it is told once
        }
        return held();
    }

    /**
     * Sees to it that records are held, as far as they are there.
     *
     * @param from the first one that will be read
     * @return that one's offset, or that of the oldest one behind it which is retained
     */
    long hold(long from) {
        try {
            consumer.seek(StartAt.COMMITTED); // only to be told what the writer has dropped, if it has
        } catch (DroppedException e) {
            LOG.warn("partition {} of the queue in {}: {}", directory.id(), directory.path(), e.getMessage());
        }
        if (held() <= from) {
            return from;
        }
        try {
            return moveTo(StartAt.offset(from));
        } catch (OutOfRangeException e) {
            return moveTo(StartAt.EARLIEST);
        }
    }

    /** Gives the space free of what lies before an offset. Moves on only. */
    void release(long before) {
        if (before > held() && before <= queue.endOffset()) {
            try {
                moveTo(StartAt.offset(before));
            } catch (OutOfRangeException e) {
                // Dropped meanwhile, or lost: the next batch finds out, and says what is missing.
                LOG.warn(
                        "partition {} of the queue in {} can not be acked before offset {}: {}",
                        directory.id(),
                        directory.path(),
                        before,
                        e.getMessage());
            }
        }
    }

    /** Gives the space free for good: nobody will ask again. Closed afterwards. */
    void forget() {
        try {
            queue.deleteConsumer(consumer.name());
        } catch (MmapQueueException e) {
            LOG.warn(
                    "consumer {} of the queue in {} could not be deleted, and holds space: {}",
                    consumer.name(),
                    directory.path(),
                    e.getMessage());
        } finally {
            close();
        }
    }

    /** Gives the consumer back; whatever fails: the queue is gone from its place. */
    void abandon() {
        try {
            close();
        } catch (MmapQueueException e) {
            LOG.warn("the former queue of {} could not be closed: {}", directory.path(), e.getMessage());
        }
    }

    /** Gives the consumer back, where it stands. A second close does nothing. */
    @Override
    public void close() {
        if (closed) {
            return; // it may be another query's by now
        }
        closed = true;
        try {
            consumer.close();
        } finally {
            queue.close();
            ConsumersOfQueries.giveBack(real, consumer.name());
        }
    }
}
