package org.mmapqueue.spark.read.stream;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.source.ArchivedPartition;
import org.mmapqueue.spark.source.ReadablePartition;

/**
 * A partition of an archive with the position of the query's consumer. Not thread-safe.
 *
 * @param source the source, which has the consumer
 * @param partition the partition
 */
record ArchiveStreamPartition(ArchiveQuerySource source, ArchivedPartition partition) implements StreamPartition {

    @Override
    public ReadablePartition records() {
        return partition;
    }

    @Override
    public boolean isNew() {
        return source.isNew();
    }

    /** No limit: an archive has no ring that could become full. */
    @Override
    public long mostHeld() {
        return Long.MAX_VALUE;
    }

    /** None: no producer waits for a consumer of an archive. */
    @Override
    public Optional<Holder> holder() {
        return Optional.empty();
    }

    /** True: a host may begin to ship a queue after the queue's first records were reclaimed. */
    @Override
    public boolean mayBeginLate() {
        return true;
    }

    @Override
    public String shortEnd() {
        return "so runs were deleted by hand";
    }

    /** The position itself: records that are shipped again have the same offsets. */
    @Override
    public long continuation(long position, long end) {
        return position;
    }

    /** Does nothing: the positions in all partitions are stored together, after they have moved. */
    @Override
    public void check(StartAt start) {}

    @Override
    public long moveTo(StartAt start) {
        long offset = switch (start.kind()) {
            case EARLIEST -> partition.firstOffset();
            case LATEST -> partition.endOffset();
            case COMMITTED -> source.position(partition.id());
            case OFFSET -> checked(start.value());
            case TIMESTAMP ->
                partition
                        .find(Instant.EPOCH.plus(Math.max(0, start.value()), ChronoUnit.MICROS))
                        .orElse(partition.endOffset());
        };
        source.move(partition.id(), Math.max(offset, partition.firstOffset()));
        return source.position(partition.id());
    }

    private long checked(long offset) {
        if (offset < partition.firstOffset() || offset > partition.endOffset()) {
            throw new OutOfRangeException(
                    "partition " + partition.id() + " of the archive " + partition.path(),
                    offset,
                    partition.firstOffset(),
                    partition.endOffset() - 1);
        }
        return offset;
    }

    @Override
    public long hold(long from) {
        if (source.position(partition.id()) > from) { // the checkpoint was rolled back
            source.move(partition.id(), from);
            source.store();
        }
        return Math.max(from, partition.firstOffset());
    }

    @Override
    public boolean retains(long before) {
        return before > source.position(partition.id()) && before <= partition.endOffset();
    }

    @Override
    public void release(long before) {
        if (retains(before)) {
            source.move(partition.id(), before);
            partition.forget(before);
        }
    }

    /** Does nothing: the consumer is one file for all partitions. */
    @Override
    public void forget() {}

    @Override
    public void abandon() {}

    @Override
    public void close() {}
}
