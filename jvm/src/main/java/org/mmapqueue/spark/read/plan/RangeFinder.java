package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.read.pushdown.LongSet;
import org.mmapqueue.spark.read.pushdown.Selection;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;

/** Finds the ranges of offsets that match options and filters. Not thread-safe. */
public final class RangeFinder {
    private final OpenPartitions partitions;
    private final ReadOptions options;
    private final Selection selection;
    private final boolean isExact;

    /**
     * Makes a finder for an open queue.
     *
     * @param isExact whether ranges for time intervals must begin and end exactly at records of the interval
     */
    public RangeFinder(OpenPartitions partitions, ReadOptions options, Selection selection, boolean isExact) {
        this.isExact = isExact;
        this.partitions = partitions.select(id -> selection.partitions().contains(id));
        this.options = options;
        this.selection = selection;
    }

    /**
     * The ranges, by partition and offset. With a selection by time they may contain records that do not match.
     *
     * @throws IllegalArgumentException if an option does not fit the queue
     * @throws IllegalStateException if a requested record is not retained any more, or missing, and failOnDataLoss is
     *     true
     */
    public List<ReadRange> find() {
        String consumer = options.consumerOr(OffsetRanges.DEFAULT_CONSUMER);
        PartitionOffsets starts = OffsetRanges.starts(partitions, options, consumer);
        PartitionOffsets ends = OffsetRanges.ends(partitions, options, consumer);
        List<ReadRange> ranges = new ArrayList<>();
        for (ReadablePartition partition : partitions.all()) {
            int id = partition.id();
            long from = starts.of(id, 0);
            long to = ends.of(id, 0);
            refuseTurned(from, to);
            if (from < to) {
                add(partition, LongSet.between(from, to - 1).and(selection.offsets()), ranges);
            }
        }
        return ranges;
    }

    // Throws if the end is before the start. An end by time or by a consumer's offset may be: the range is then empty.
    private void refuseTurned(long from, long to) {
        OffsetSpec start = options.startingOffsets();
        OffsetSpec end = options.endingOffsets();
        if (from > to
                && start.isExplicit()
                && end.isExplicit()
                && options.endingTimestamp().isEmpty()
                && options.startingTimestamp().isEmpty()) {
            throw Options.bad(end.option(), end.text(), "at least " + start.option() + ", which is " + start.text());
        }
    }

    private void add(ReadablePartition partition, LongSet offsets, List<ReadRange> ranges) {
        int id = partition.id();
        LongSet wanted = selection.isByTime() ? offsets.and(offsetsOf(partition)) : offsets;
        long first = OverDamage.firstOffset(partition, options.skipsDamage());
        for (LongSet.Interval each : wanted.intervals()) {
            long to = each.high() + 1;
            if (each.low() < first && isNamed(id)) {
                DataLoss.found(
                        options.failOnDataLoss(),
                        id,
                        partition.path(),
                        each.low(),
                        Math.min(first, to),
                        "the log starts at offset " + first);
            }
            if (Math.max(each.low(), first) < to) {
                ReadRange range = new ReadRange(id, Math.max(each.low(), first), to);
                ranges.addAll(Gaps.without(partition, range, options.failOnDataLoss()));
            }
        }
    }

    // Whether the start is an explicit offset: only that can be too low, as every other start is a retained record.
    private boolean isNamed(int id) {
        return options.startingTimestamp().isEmpty()
                && options.startingOffsets().isNumber(id);
    }

    // Timestamps never decrease along the log, so the records of a time interval lie between two offsets, with records
    // without a timestamp among them.
    private LongSet offsetsOf(ReadablePartition partition) {
        LongSet offsets = LongSet.NONE;
        try {
            for (LongSet.Interval each : selection.timestamps().intervals()) {
                long[] range = partition.rangeOf(each.low(), each.high(), isExact);
                long to = range[1];
                offsets = offsets.or(LongSet.between(range[0], to == Long.MAX_VALUE ? to : to - 1));
            }
            return offsets;
        } catch (ConfigException e) {
            return LongSet.ALL; // the queue stores no timestamps now, but earlier records may have them
        } catch (CorruptException e) {
            if (options.skipsDamage()) {
                return LongSet.ALL; // tasks compare the time of each record
            }
            throw e;
        }
    }
}
