package org.mmapqueue.core;

import java.io.IOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.QueueStats;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.log.LogReaderV1;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.swap.Swapper;
import org.mmapqueue.write.Writer;

/**
 * The progress of a queue and of its consumers at one moment.
 *
 * @param overflows whether what was dropped for a consumer is read in the archive
 * @param writer null if another process writes
 */
record Statistics(Log log, long endOffset, Registry registry, Consumers consumers, boolean overflows, Writer writer) {
    private static final int META_BYTES = 4096;

    List<ConsumerStats> ofConsumers() {
        List<ConsumerStats> all = new ArrayList<>();
        for (Registry.Named each : registry.all()) {
            ConsumerStats stats = of(each, consumers.owned(each.name()));
            // Otherwise another process has deleted the consumer.
            if (each.cursors().needed() != Long.MAX_VALUE) {
                all.add(stats);
            }
        }
        return all;
    }

    private OptionalLong committedOffset(String name) {
        ConsumerCursors cursors = registry.find(name);
        if (cursors == null || cursors.needed() == Long.MAX_VALUE) {
            return OptionalLong.empty();
        }
        ConsumerCore core = consumers.owned(name);
        return OptionalLong.of(core != null ? core.committedOffset() : offsetAt(cursors));
    }

    /**
     * The least offset that a consumer, except one, has not passed; Long.MAX_VALUE without consumers.
     *
     * @param except the name of the consumer that does not count
     */
    long leastPassedOffset(String except) {
        return registry.names().stream()
                .filter(name -> !name.equals(except))
                .map(this::passedOffset)
                .filter(OptionalLong::isPresent)
                .mapToLong(OptionalLong::getAsLong)
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /** The committed offset of a consumer; that of the first dropped record while it has not passed the dropped ones. */
    OptionalLong passedOffset(String name) {
        ConsumerCursors cursors = registry.find(name);
        if (overflows && cursors != null && cursors.dropped() > cursors.committed()) {
            return OptionalLong.of(cursors.unackedOffset());
        }
        OptionalLong committed = committedOffset(name);
        // After the committed offset: a drop that was acknowledged in between was passed.
        OptionalLong dropped = droppedFirst(name);
        return committed.isPresent() && dropped.isPresent()
                ? OptionalLong.of(Math.min(dropped.getAsLong(), committed.getAsLong()))
                : committed;
    }

    /** The offset of the first dropped record that a consumer has not passed yet; empty for none. */
    OptionalLong droppedFirst(String name) {
        ConsumerCursors cursors = registry.find(name);
        return cursors != null && cursors.dropped() > cursors.committed()
                ? OptionalLong.of(cursors.droppedFirst())
                : OptionalLong.empty();
    }

    private ConsumerStats of(Registry.Named consumer, ConsumerCore core) {
        ConsumerCursors cursors = consumer.cursors();
        long position = needed(cursors);
        boolean isBehind = overflows && cursors.dropped() > cursors.committed();
        long inRing = isBehind || core == null ? offsetAt(cursors) : 0;
        long committed = core != null ? core.committedOffset() : inRing;
        if (isBehind && core == null) {
            committed = Math.min(cursors.unackedOffset(), inRing);
        }
        long read = core != null ? core.readOffset() : readOffset(consumer.cursors(), committed);
        long lag = core != null ? core.lag(endOffset) : Math.max(0, endOffset - committed);
        long archived = isBehind ? Math.max(0, Math.min(lag, inRing - committed)) : 0;
        return new ConsumerStats(
                consumer.name(),
                committed,
                position,
                lag,
                archived,
                lag == 0 ? 0 : Math.max(0, log.end() - position),
                lag == 0 ? Optional.empty() : ageOf(archived > 0 ? inRing : committed),
                read,
                Math.max(position, consumer.cursors().reading()),
                core != null ? core.unacked() : read - committed,
                writer == null ? 0 : writer.dropped(consumer.name()).records(),
                core != null ? core.damage().records() : 0,
                Optional.of(consumer.cursors().label()).filter(text -> !text.isEmpty()));
    }

    private long needed(ConsumerCursors cursors) {
        return Math.max(cursors.needed(), log.reclaimed());
    }

    // The offset of the committed position. The owner may ack, and the writer reclaim, between the loads of the
    // position and of the record.
    private long offsetAt(ConsumerCursors cursors) {
        for (int tries = 3; ; tries--) {
            try {
                return log.offsetAt(needed(cursors));
            } catch (MmapQueueException e) {
                if (cursors.needed() == Long.MAX_VALUE) {
                    return endOffset;
                }
                if (tries == 0) {
                    throw e;
                }
            }
        }
    }

    // The read offset of a consumer of another process, from the reading position that its owner has stored.
    private long readOffset(ConsumerCursors cursors, long committed) {
        long reading = cursors.reading();
        try {
            return reading <= needed(cursors)
                    ? committed
                    : Math.max(committed, Math.min(endOffset, log.offsetAt(reading)));
        } catch (MmapQueueException e) {
            return committed; // the consumer was moved since, or the record was never published
        }
    }

    private Optional<Duration> ageOf(long offset) {
        try {
            long pushed = log.randomAccess().get(offset, 1, 1).get(0).timestampMicros();
            long age = Math.max(0, System.currentTimeMillis() * 1000 - pushed);
            return pushed == 0 ? Optional.empty() : Optional.of(Duration.of(age, ChronoUnit.MICROS));
        } catch (MmapQueueException e) {
            return Optional.empty(); // acked since, or version 1, which has no timestamps
        }
    }

    /**
     * Whether an append of a record of max_event_size would find no room at this moment.
     *
     * @param passable the position before which the ring can give up its records
     */
    static boolean isFull(Settings settings, MetaPage meta, long passable) {
        Geometry geometry = settings.geometry();
        long last = lastSegment(settings, Math.max(meta.writing(), passable));
        return last - geometry.capacity() >= geometry.segmentOf(passable);
    }

    // The last segment that must have a free slot for the largest record at a log end.
    private static long lastSegment(Settings settings, long end) {
        Geometry geometry = settings.geometry();
        int length = settings.maxEventSize();
        if (geometry.format().reservesLargestRecord()) {
            return geometry.segmentOf(LogReaderV1.normal(geometry, end)) + geometry.margin(length);
        }
        int flags = settings.timestamps() ? length | RecordDescriptor.TIMESTAMPED : length;
        return geometry.segmentOfEnd(geometry.after(end, RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(flags)));
    }

    /**
     * The state of a queue.
     *
     * @param end the offset after the last record; loaded after the cursors
     */
    static QueueStats ofQueue(
            MetaPage meta, Registry registry, Geometry geometry, Swapper swapper, Log log, LongSupplier end)
            throws IOException {
        // The lower one is loaded first, as both only grow.
        long watermark = meta.watermark();
        registry.refresh();
        Registry.Named consumer = registry.slowestConsumer();
        long lowWatermark = registry.lowWatermark();
        // The last record may be acked before the writer has stored the new writing position.
        long writing = Math.max(meta.writing(), lowWatermark);
        int inUse = writing == lowWatermark
                ? 0
                : (int) (geometry.segmentOfEnd(writing) - geometry.segmentOf(lowWatermark) + 1);
        return new QueueStats(
                log.firstKnownOffset(),
                end.getAsLong(),
                writing,
                watermark,
                lowWatermark,
                Optional.ofNullable(consumer).map(Registry.Named::name),
                inUse,
                geometry.capacity(),
                geometry.segmentSize(),
                swapper.live(),
                (long) swapper.mapped() * geometry.segmentSize() + META_BYTES,
                swapper.peak(),
                meta.fields().epoch());
    }
}
