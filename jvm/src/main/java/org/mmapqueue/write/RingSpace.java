package org.mmapqueue.write;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.metrics.RecordCounter;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Decides which slots of the ring are free, in the writing process. Safe for any number of threads.
 *
 * <p>A slot is free when every consumer has committed past it, in memory and durably: a loss of power must not restore
 * a cursor into it. In a ring that overflows, only the shipper's consumer has to: the others are sent to the archive
 * first ({@link #overtake}). Before a slot is used, the reclaiming position announces that to other processes, and the consumers
 * are checked again ({@link Registry} has the other half of the protocol).
 */
final class RingSpace {
    /** With retention, this fraction of the ring is given up with one fsync, instead of one segment. */
    private static final int PARTS = 64;

    private final Geometry geometry;
    private final MetaPage meta;
    private final Swapper swapper;
    private final Registry registry;
    private final Flusher flusher;
    private final long maxConsumerLag;
    /** Whether records that consumers need are given up once the archive has them. */
    private final boolean overflows;
    /** Makes the shipper ship at once. */
    private volatile Runnable whenShort = () -> {};

    private long seenChanges;
    private volatile long firstKept;
    private final DroppedRecords dropped;

    RingSpace(Settings settings, MetaPage meta, Swapper swapper, Registry registry, Flusher flusher) {
        this.geometry = settings.geometry();
        this.maxConsumerLag = settings.maxConsumerLag();
        this.overflows = settings.archiving().overflows();
        this.meta = meta;
        this.swapper = swapper;
        this.registry = registry;
        this.flusher = flusher;
        this.dropped = new DroppedRecords(geometry, meta, swapper);
    }

    /** Finds the first segment that is retained after an open. The caller guarantees that all cursors are durable. */
    void start() throws IOException {
        seenChanges = registry.refresh();
        long writing = Math.max(0, geometry.segmentOfEnd(meta.writing()));
        long stored = geometry.segmentOf(meta.reclaimed());
        long lowWatermark = geometry.segmentOf(registry.cursors().stream()
                .mapToLong(ConsumerCursors::needed)
                .min()
                .orElseThrow());
        // After a loss of power the stored reclaimed position may be too low. It may also be higher than a consumer
        // that was just created or moved back. The segment headers decide, since they are overwritten first.
        long first = Math.max(
                0, Math.max(Math.min(stored, lowWatermark), Math.min(writing - geometry.capacity() + 1, lowWatermark)));
        long last = Math.min(Math.max(stored, lowWatermark), writing);
        while (geometry.format().hasSegmentHeaders() && first < last && !isThere(first)) {
            first++;
        }
        meta.reclaimed(geometry.position(first, 0));
        meta.reclaiming(meta.reclaimed());
        if (registry.noConsumer().needed() < meta.reclaimed()) {
            meta.heldFrom(meta.reclaimed()); // the consumers' files were deleted by hand
        }
        firstKept = first;
        flusher.startAt(registry.lowWatermark());
    }

    private boolean isThere(long id) throws IOException {
        Segment segment = swapper.pinIfThere(id, meta.fields().uuid());
        if (segment != null) {
            swapper.unpin(segment);
        }
        return segment != null;
    }

    /** Sets what is called, under this object's lock, when the archive does not have what the ring would give up. */
    void whenShort(Runnable work) {
        whenShort = work;
    }

    /** The id of the first segment that is not reclaimed. */
    long firstKept() {
        return firstKept;
    }

    /** Frees the slot of a future segment: reclaims the segment that it holds, unless a consumer needs that. */
    boolean tryFree(long segmentId) {
        long id = segmentId - geometry.capacity();
        return id < firstKept || tryReclaim(id, geometry.capacity() / PARTS);
    }

    /** Reclaims a segment and all segments before it, if no consumer needs them. */
    boolean reclaim(long id) {
        return id < firstKept || tryReclaim(id, 0);
    }

    private synchronized boolean tryReclaim(long id, int ahead) {
        try {
            while (id >= firstKept) {
                long changes = refresh();
                dropLaggards();
                overtake(id + 1);
                if (id >= geometry.segmentOf(registry.lowWatermark())) {
                    return false;
                }
                long wanted = geometry.position(id + 1, 0);
                if (!isDurable(id) && !makeDurable(id, wanted)) {
                    return false;
                }
                if (meta.isRetaining() && meta.intact() < wanted) {
                    long lowWatermark = geometry.segmentOf(registry.lowWatermark());
                    flusher.giveUpBefore(geometry.position(Math.min(id + 1 + ahead, lowWatermark), 0));
                }
                if (announce(wanted, changes)) {
                    meta.reclaimed(wanted);
                    firstKept = id + 1;
                }
            }
            return true;
        } catch (IOException e) {
            throw new MmapQueueException("the consumers could not be read: " + e, e);
        }
    }

    // Announces a reclaimed position; withdraws it if a consumer needs what is before it, and after an error: whoever
    // creates a consumer waits for the outcome.
    private boolean announce(long wanted, long changes) {
        boolean isFree = false;
        meta.reclaiming(wanted);
        try {
            isFree = meta.consumerChanges() == changes && !isBehind(wanted);
        } finally {
            if (!isFree) {
                meta.reclaiming(meta.reclaimed());
            }
        }
        return isFree;
    }

    // Whether a consumer is before a position. registry.lowWatermark() cannot say, since it is never before the
    // reclaimed position.
    private boolean isBehind(long position) {
        return registry.all().stream().anyMatch(each -> each.cursors().needed() < position);
    }

    private long refresh() throws IOException {
        long changes = registry.refresh();
        if (changes != seenChanges) {
            // A cursor may have been moved back and forward again; the kernel may have written back the lower value.
            flusher.durableAtMost(meta.reclaimed());
            seenChanges = changes;
        }
        return changes;
    }

    /**
     * Whether no cursor needs this segment after a loss of power. A cursor at the end of a segment needs the segment for
     * the offset of the next record, unless the header of the next segment is durable.
     */
    private boolean isDurable(long id) {
        long durable = flusher.durableCommitted();
        if (!geometry.format().hasSegmentHeaders()) {
            return id < geometry.segmentOf(durable);
        }
        return id < geometry.segmentOfEnd(durable) || id < geometry.segmentOf(durable) && meta.watermark() > durable;
    }

    private boolean makeDurable(long id, long wanted) {
        flusher.syncAcks(wanted);
        if (!isDurable(id)) {
            flusher.flush(); // the consumer is at a segment's end: the next segment's header must be durable, too
        }
        return isDurable(id);
    }

    /**
     * Fsyncs acks in time, so that at least a quarter of the ring stays free. For the background thread, since it may
     * take as long as a flush.
     *
     * @return whether less than a quarter is free because too few records are acked
     */
    boolean freeAhead(long segmentId) {
        long quarter = Math.max(1, geometry.capacity() / 4);
        long durable;
        boolean isEnough;
        synchronized (this) {
            try {
                refresh();
                dropLaggards();
                durable = geometry.segmentOf(flusher.durableCommitted());
                if (segmentId + quarter - geometry.capacity() < durable) {
                    return false;
                }
                overtake(durable + quarter); // one fsync for all of them
            } catch (IOException e) {
                throw new MmapQueueException("the consumers could not be read: " + e, e);
            }
            isEnough = geometry.segmentOf(registry.lowWatermark()) - durable >= quarter;
        }
        if (isEnough) { // without the monitor: a push that finds free slots must not wait for this fsync
            flusher.syncAcks(geometry.position(durable + quarter, 0));
        }
        return !isEnough;
    }

    private void dropLaggards() throws IOException {
        if (maxConsumerLag == 0) {
            return;
        }
        long writing = meta.writing();
        for (Registry.Named each : withNoConsumer()) {
            if (writing - each.cursors().needed() > maxConsumerLag) {
                long to = firstRecordFrom(geometry.segmentOf(writing - maxConsumerLag) + 1, writing);
                String reason = "lags by " + (writing - each.cursors().needed()) + " bytes, and max_consumer_lag is "
                        + maxConsumerLag;
                dropped.drop(each, to, true, writing, reason);
            }
        }
    }

    /**
     * The position before which the ring can give up its records: the low watermark; in a ring that overflows, what the
     * archive has, if that is more.
     */
    long passable() {
        long lowWatermark = registry.lowWatermark();
        ConsumerCursors shipper = overflows ? registry.find(Registry.SHIPPER) : null;
        // Dropped for the shipper: the archive does not have them.
        return shipper == null || shipper.needed() == Long.MAX_VALUE || shipper.dropped() > shipper.committed()
                ? lowWatermark
                : Math.max(lowWatermark, shipper.committed());
    }

    /**
     * Sends the consumers that are before a segment to the archive, as far as it has the records up to that segment.
     *
     * @param id the first segment that they keep, at most that of the log end
     */
    private void overtake(long id) throws IOException {
        long writing = meta.writing();
        if (!overflows || geometry.position(id, 0) > writing) {
            return;
        }
        long most = passable();
        long to = most < geometry.position(id, 0) ? writing : firstRecordFrom(id, writing);
        if (to > most) {
            flusher.request(); // what is not durable is not shipped
            whenShort.run();
            return;
        }
        for (Registry.Named each : registry.all()) {
            if (!each.name().equals(Registry.SHIPPER)) {
                dropped.leaveToArchive(each, to, writing);
            }
        }
    }

    /**
     * Drops the records before a position for each consumer that has not acked them, because they are too old.
     *
     * @param to the end of a record
     * @return whether records were dropped
     */
    synchronized boolean dropBefore(long to, String reason) throws IOException {
        refresh();
        boolean any = false;
        for (Registry.Named each : withNoConsumer()) {
            any |= dropped.drop(each, to, false, meta.writing(), reason);
        }
        return any;
    }

    // All consumers, and a nameless one for what the queue retains without a consumer.
    private List<Registry.Named> withNoConsumer() {
        List<Registry.Named> all = new ArrayList<>(registry.all());
        all.add(new Registry.Named("", registry.noConsumer()));
        return all;
    }

    /** Whether {@link #tell} has something to log. Any thread. */
    boolean hasToTell() {
        return dropped.hasToTell();
    }

    /** Logs what was dropped. Any thread, without a lock. */
    void tell() {
        dropped.tell();
    }

    /** Counts the records dropped for a consumer since the queue was opened. Any thread. */
    RecordCounter dropped(String consumer) {
        return dropped.count(consumer);
    }

    /**
     * A position before which all records are older than a time, by the undamaged segment headers: an estimate for
     * where a search by time meets damage.
     *
     * @param micros µs since 1970
     */
    long endOfOlder(long micros) throws IOException {
        long writing = meta.writing();
        long end = 0;
        for (long id = geometry.segmentOf(registry.lowWatermark()); geometry.position(id, 0) < writing; id++) {
            Segment segment = swapper.pinIfThere(id, meta.fields().uuid());
            if (segment == null) {
                continue;
            }
            try {
                if (segment.baseTime() >= micros) {
                    break;
                }
                end = Math.max(end, firstRecordOf(segment, writing));
            } finally {
                swapper.unpin(segment);
            }
        }
        return end;
    }

    // The position after which a record begins, in this segment or a later one; the log end if there is none. A segment
    // with a damaged header is passed: no consumer could read it.
    private long firstRecordFrom(long id, long writing) throws IOException {
        long found = -1;
        for (long at = id; found < 0 && geometry.position(at, 0) < writing; at++) {
            Segment segment = swapper.pinIfThere(at, meta.fields().uuid());
            if (segment != null) {
                try {
                    found = firstRecordOf(segment, writing);
                } finally {
                    swapper.unpin(segment);
                }
            }
        }
        return found < 0 ? writing : found;
    }

    // The position after which the first record of a segment begins; -1 without one.
    private long firstRecordOf(Segment segment, long writing) {
        int first = segment.firstRecord();
        return first == 0 || geometry.position(segment.id(), first) > writing
                ? -1
                : geometry.position(segment.id(), first == geometry.dataStart() ? 0 : first);
    }
}
