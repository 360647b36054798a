package org.mmapqueue.write;

import java.io.IOException;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.OffsetResolver;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which slots of the ring hold nothing that anybody needs, in the process that writes. Any number of threads.
 *
 * <p>A slot is free when every consumer has passed it, in memory and, so that a loss of power does not bring a cursor
 * back that points into it, on the disk. Before it is used the other processes are told, and the consumers are looked
 * at once more ({@link Registry} has the other half of that).
 */
final class RingSpace {
    private static final Logger LOG = LoggerFactory.getLogger(RingSpace.class);

    /** With retention the disk is told of what is given up by so large a part of the ring at once, not by segments. */
    private static final int PARTS = 64;

    private final Geometry geometry;
    private final MetaPage meta;
    private final Swapper swapper;
    private final Registry registry;
    private final Flusher flusher;
    private final long maxConsumerLag;
    private long seenChanges;
    private volatile long firstKept;
    private boolean saidThatNobodyReads;

    RingSpace(Settings settings, MetaPage meta, Swapper swapper, Registry registry, Flusher flusher) {
        this.geometry = settings.geometry();
        this.maxConsumerLag = settings.maxConsumerLag();
        this.meta = meta;
        this.swapper = swapper;
        this.registry = registry;
        this.flusher = flusher;
    }

    /** Finds out what is there when the queue has been opened; all cursors are on the disk. */
    void start() throws IOException {
        seenChanges = registry.refresh();
        long writing = Math.max(0, geometry.segmentOfEnd(meta.writing()));
        long stored = geometry.segmentOf(meta.reclaimed());
        long lowWatermark = geometry.segmentOf(registry.cursors().stream()
                .mapToLong(ConsumerCursors::needed)
                .min()
                .orElseThrow());
        // What is stored may be older than the truth after a loss of power, or ahead of a consumer that was just being
        // made or moved back. What is there decides: the first bytes of a slot are the first to go.
        long first = Math.max(
                0, Math.max(Math.min(stored, lowWatermark), Math.min(writing - geometry.capacity() + 1, lowWatermark)));
        long last = Math.min(Math.max(stored, lowWatermark), writing);
        while (geometry.format().hasSegmentHeaders() && first < last && !isThere(first)) {
            first++;
        }
        meta.reclaimed(geometry.position(first, 0));
        meta.reclaiming(meta.reclaimed());
        if (registry.noConsumer().needed() < meta.reclaimed()) {
            meta.heldFrom(meta.reclaimed()); // consumers' files have been deleted by hand
        }
        firstKept = first;
        flusher.startAt(registry.lowWatermark());
    }

    private boolean isThere(long id) throws IOException {
        Segment segment = swapper.pinIfThere(id, meta.fields().uuidLow());
        if (segment != null) {
            swapper.unpin(segment);
        }
        return segment != null;
    }

    /** Segments before this one are reclaimed: nobody may look for what they held. */
    long firstKept() {
        return firstKept;
    }

    /** Whether the slot of a future segment may be used; from then on what it held is gone. */
    boolean isFree(long segmentId) {
        long id = segmentId - geometry.capacity();
        return id < firstKept || tryReclaim(id, geometry.capacity() / PARTS);
    }

    /** Gives a segment up, and all before it, when nobody needs them any more. */
    boolean reclaim(long id) {
        return id < firstKept || tryReclaim(id, 0);
    }

    private synchronized boolean tryReclaim(long id, int ahead) {
        try {
            while (id >= firstKept) {
                long changes = refresh();
                dropLaggards();
                if (id >= geometry.segmentOf(registry.lowWatermark())) {
                    return false;
                }
                long wanted = geometry.position(id + 1, 0);
                if (!isDurable(id) && !isMadeDurable(id, wanted)) {
                    return false;
                }
                if (meta.isRetaining() && meta.intact() < wanted) {
                    long lowWatermark = geometry.segmentOf(registry.lowWatermark());
                    flusher.giveUpBefore(geometry.position(Math.min(id + 1 + ahead, lowWatermark), 0));
                }
                meta.reclaiming(wanted);
                if (meta.consumerChanges() == changes && !isBehind(wanted)) {
                    meta.reclaimed(wanted);
                    firstKept = id + 1;
                } else {
                    meta.reclaiming(meta.reclaimed());
                }
            }
            return true;
        } catch (IOException e) {
            throw new MmapQueueException("the consumers could not be looked at: " + e, e);
        }
    }

    // Not by what the registry gives as the slowest: nobody is before the reclaimed position in that.
    private boolean isBehind(long position) {
        for (Registry.Named each : registry.all()) {
            if (each.cursors().needed() < position) {
                return true;
            }
        }
        return false;
    }

    private long refresh() throws IOException {
        long changes = registry.refresh();
        if (changes != seenChanges) {
            // The kernel may have written a cursor that has been moved back, and moved on again since.
            flusher.durableAtMost(meta.reclaimed());
            seenChanges = changes;
        }
        return changes;
    }

    /**
     * Whether a loss of power would bring no cursor back that needs this segment. At the end of a segment it may need
     * that one for the number of the next record, unless the header of the next one is on the disk.
     */
    private boolean isDurable(long id) {
        long durable = flusher.durableCommitted();
        if (!geometry.format().hasSegmentHeaders()) {
            return id < geometry.segmentOf(durable);
        }
        return id < geometry.segmentOfEnd(durable) || id < geometry.segmentOf(durable) && meta.watermark() > durable;
    }

    private boolean isMadeDurable(long id, long wanted) {
        flusher.syncAcks(wanted);
        if (!isDurable(id)) {
            flusher.flush(); // the consumer is at a segment's end: the header behind it has to be there, too
        }
        return isDurable(id);
    }

    /**
     * Sees to it that acks are on the disk before a quarter of a generation is left. For the background thread.
     *
     * @return whether less than a quarter is left all the same, since there are not acks enough
     */
    boolean freeAhead(long segmentId) {
        long quarter = Math.max(1, geometry.capacity() / 4);
        long durable;
        boolean isEnough;
        synchronized (this) {
            try {
                refresh();
                dropLaggards();
            } catch (IOException e) {
                throw new MmapQueueException("the consumers could not be looked at: " + e, e);
            }
            durable = geometry.segmentOf(flusher.durableCommitted());
            if (segmentId + quarter - geometry.capacity() < durable) {
                return false;
            }
            isEnough = geometry.segmentOf(registry.lowWatermark()) - durable >= quarter;
        }
        if (isEnough) { // nobody who finds slots free meanwhile waits for this
            flusher.syncAcks(geometry.position(durable + quarter, 0));
        }
        return !isEnough;
    }

    private void dropLaggards() throws IOException {
        if (maxConsumerLag == 0) {
            return;
        }
        long writing = meta.writing();
        for (Registry.Named each : registry.all()) {
            if (writing - each.cursors().needed() > maxConsumerLag) {
                drop(each.name(), each.cursors(), writing);
            }
        }
        if (writing - registry.noConsumer().needed() > maxConsumerLag) {
            drop("", registry.noConsumer(), writing);
        }
    }

    private void drop(String name, ConsumerCursors consumer, long writing) throws IOException {
        long to = firstRecordFrom(geometry.segmentOf(writing - maxConsumerLag) + 1, writing);
        long needed = consumer.needed();
        // Before what is reclaimed: it is just being moved back, in vain.
        if (to <= needed || needed < meta.reclaimed()) {
            return;
        }
        if (consumer == registry.noConsumer()) {
            consumer.drop(to, 0);
            sayThatNobodyReads(to);
            return;
        }
        LogReaderV2 reader = new LogReaderV2(swapper, geometry, meta.fields(), meta::writing);
        try {
            boolean goesOn = consumer.dropped() > consumer.committed();
            long first = goesOn
                    ? consumer.droppedFirst()
                    : OffsetResolver.find(reader, needed, writing).offset();
            long next = OffsetResolver.find(reader, to, writing).offset();
            consumer.drop(to, first);
            // Once until it takes note: from then on it may lose a segment for each that is written.
            if (!goesOn) {
                LOG.warn(
                        "consumer {} is {} bytes behind, and max_consumer_lag is {}: records from {} to {} are dropped"
                                + " for it, and more until it reads on",
                        name,
                        writing - needed,
                        maxConsumerLag,
                        first,
                        next - 1);
            }
        } finally {
            reader.leave();
        }
    }

    private void sayThatNobodyReads(long position) {
        if (!saidThatNobodyReads) {
            saidThatNobodyReads = true;
            LOG.warn(
                    "there is no consumer, and max_consumer_lag is {}: records before position {} are dropped, and"
                            + " more until there is one",
                    maxConsumerLag,
                    position);
        }
    }

    // The position behind which a record begins, in this segment or a later one; the end when there is none.
    private long firstRecordFrom(long id, long writing) throws IOException {
        for (long at = id; geometry.position(at, 0) < writing; at++) {
            Segment segment = swapper.pin(at);
            try {
                String fault = segment.headerFault(meta.fields().uuidLow());
                if (fault != null) {
                    throw new CorruptException(segment.path().toString(), 0, fault);
                }
                int first = segment.firstRecord();
                if (first > 0 && geometry.position(at, first) <= writing) {
                    return geometry.position(at, first == geometry.dataStart() ? 0 : first);
                }
            } finally {
                swapper.unpin(segment);
            }
        }
        return writing;
    }
}
