package org.mmapqueue.core;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.QueueStats;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.consume.ConsumerMeters;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.metrics.Progress;
import org.mmapqueue.metrics.RecordCounter;
import org.mmapqueue.metrics.Sample;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.write.Writer;

/**
 * The metrics of an open queue. Pushes, pops and acks are not counted one by one: each call of {@link #samples} adds
 * how far the cursors have moved since the last call, the first call since the open. Safe for any number of threads;
 * one call at a time.
 */
final class QueueMeter {
    private final Registry registry;
    private final Consumers consumers;
    private final Writer writer;
    private final Recovered recovered;
    /** Null until the first call, if another process writes. */
    private Progress pushed;
    /** Consumers that this process does not own, counted from the first call on. */
    private final Map<String, Passed> elsewhere = new HashMap<>();

    /** What the reading and the committed position of a consumer have passed. */
    private record Passed(Progress popped, Progress acked) {
        static Passed from(ConsumerStats stats, long committedPosition) {
            return new Passed(
                    new Progress(stats.readOffset(), stats.readPosition()),
                    new Progress(stats.committedOffset(), committedPosition));
        }
    }

    /**
     * Starts at 0.
     *
     * @param writer null if another process writes
     * @param recovered the log end at the open, and what its recovery cost; null if another process writes
     */
    QueueMeter(Registry registry, Consumers consumers, Writer writer, Recovered recovered) {
        this.registry = registry;
        this.consumers = consumers;
        this.writer = writer;
        this.recovered = recovered;
        this.pushed = recovered == null
                ? null
                : new Progress(recovered.end().nextOffset(), recovered.end().position());
    }

    /** The present values of all metrics. */
    synchronized List<Sample> samples(Supplier<QueueStats> queueStats, Supplier<List<ConsumerStats>> consumerStats) {
        List<ConsumerStats> ofConsumers = consumerStats.get();
        List<Sample> samples = new ArrayList<>();
        addQueue(queueStats.get(), ofConsumers, samples);
        if (writer != null) {
            samples.add(Sample.of(Metric.RECOVERY_SECONDS, recovered.nanos() / 1e9));
            samples.add(Sample.of(Metric.RECOVERY_TRUNCATED_BYTES, recovered.truncatedBytes()));
            samples.addAll(writer.meters().samples());
        }
        for (ConsumerStats each : ofConsumers) {
            addConsumer(each, consumers.owned(each.name()), samples);
        }
        elsewhere
                .keySet()
                .removeIf(name ->
                        ofConsumers.stream().noneMatch(each -> each.name().equals(name)));
        return samples;
    }

    private void addQueue(QueueStats stats, List<ConsumerStats> ofConsumers, List<Sample> samples) {
        if (pushed == null) {
            pushed = new Progress(stats.endOffset(), stats.writingPosition());
        }
        pushed.at(stats.endOffset(), stats.writingPosition());
        long capacity = (long) stats.capacitySegments() * stats.segmentSize();
        long used = usedBytes(stats, ofConsumers);
        samples.add(Sample.of(Metric.PUSHED_RECORDS, pushed.records()));
        samples.add(Sample.of(Metric.PUSHED_BYTES, pushed.bytes()));
        samples.add(Sample.of(Metric.RETAINED_RECORDS, Math.max(0, stats.endOffset() - stats.firstOffset())));
        samples.add(Sample.of(Metric.USED_BYTES, used));
        samples.add(Sample.of(Metric.CAPACITY_BYTES, capacity));
        samples.add(Sample.of(Metric.FILL, Math.min(1.0, (double) used / capacity)));
        samples.add(Sample.of(Metric.UNSYNCED_BYTES, Math.max(0, stats.writingPosition() - stats.watermarkPosition())));
        samples.add(Sample.of(Metric.MAPPED_BYTES, stats.mappedBytes()));
        samples.add(Sample.of(Metric.CONSUMERS, ofConsumers.size()));
        samples.add(Sample.of(Metric.RECOVERIES, Math.max(0, stats.epoch() - 1)));
    }

    // Counted from the start of the segment of the first record that some consumer has not acked.
    private static long usedBytes(QueueStats stats, List<ConsumerStats> ofConsumers) {
        long committed = ofConsumers.stream()
                .mapToLong(ConsumerStats::committedOffset)
                .min()
                .orElse(stats.firstOffset());
        long firstSegment = stats.lowWatermark() / stats.segmentSize() * stats.segmentSize();
        return stats.endOffset() > committed ? stats.writingPosition() - firstSegment : 0;
    }

    private void addConsumer(ConsumerStats stats, ConsumerCore core, List<Sample> samples) {
        String name = stats.name();
        ConsumerCursors cursors = registry.find(name);
        long position = cursors == null ? Long.MAX_VALUE : cursors.needed();
        if (position == Long.MAX_VALUE) {
            return; // the consumer was deleted since
        }
        Passed passed = core == null
                ? elsewhere.computeIfAbsent(name, key -> Passed.from(stats, position))
                : new Passed(core.meters().popped(), core.meters().acked());
        passed.popped.at(stats.readOffset(), stats.readPosition());
        passed.acked.at(stats.committedOffset(), position);
        samples.add(Sample.of(Metric.POPPED_RECORDS, name, passed.popped.records()));
        samples.add(Sample.of(Metric.POPPED_BYTES, name, passed.popped.bytes()));
        samples.add(Sample.of(Metric.ACKED_RECORDS, name, passed.acked.records()));
        samples.add(Sample.of(Metric.ACKED_BYTES, name, passed.acked.bytes()));
        samples.add(Sample.of(Metric.LAG_RECORDS, name, stats.lagRecords()));
        samples.add(Sample.of(Metric.ARCHIVED_LAG_RECORDS, name, stats.archivedRecords()));
        samples.add(Sample.of(Metric.LAG_BYTES, name, stats.lagBytes()));
        double age = stats.lagTime().map(each -> each.toNanos() / 1e9).orElse(0.0);
        samples.add(Sample.of(Metric.OLDEST_UNACKED_AGE, name, age));
        samples.add(Sample.of(Metric.IN_FLIGHT_RECORDS, name, stats.unacked()));
        if (writer != null) {
            add(Metric.DROPPED_RECORDS, Metric.DROPPED_BYTES, name, writer.dropped(name), samples);
        }
        if (core != null) {
            elsewhere.remove(name); // if this process closes the consumer, counting restarts
            ConsumerMeters meters = core.meters();
            add(Metric.REDELIVERED_RECORDS, Metric.REDELIVERED_BYTES, name, meters.redelivered(), samples);
            add(Metric.DEAD_LETTERED_RECORDS, Metric.DEAD_LETTERED_BYTES, name, meters.deadLettered(), samples);
            samples.add(Sample.of(Metric.DAMAGED_RECORDS, name, stats.damagedRecords()));
        }
    }

    private static void add(Metric records, Metric bytes, String name, RecordCounter counter, List<Sample> samples) {
        samples.add(Sample.of(records, name, counter.records()));
        samples.add(Sample.of(bytes, name, counter.bytes()));
    }
}
