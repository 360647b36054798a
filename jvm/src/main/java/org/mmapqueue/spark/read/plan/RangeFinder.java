package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.spark.common.OpenPartitions;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.read.pushdown.LongSet;
import org.mmapqueue.spark.read.pushdown.Selection;

/** Finds the ranges that hold what options and filters ask for. For one thread. */
public final class RangeFinder {
    private final OpenPartitions partitions;
    private final ReadOptions options;
    private final Selection selection;

    /** A finder in an open queue. */
    public RangeFinder(OpenPartitions partitions, ReadOptions options, Selection selection) {
        this.partitions = partitions;
        this.options = options;
        this.selection = selection;
    }

    /**
     * The ranges, in the order of partitions and offsets. With a selection by time they may hold other records, too.
     *
     * @throws IllegalArgumentException when an option does not fit the queue
     * @throws IllegalStateException when a record that is asked for is not retained any more, and that is an error
     */
    public List<ReadRange> find() {
        String consumer = options.consumerOr(OffsetRanges.DEFAULT_CONSUMER);
        PartitionOffsets starts = OffsetRanges.starts(partitions, options, consumer);
        PartitionOffsets ends = OffsetRanges.ends(partitions, options, consumer);
        List<ReadRange> ranges = new ArrayList<>();
        for (int id = 0; id < partitions.count(); id++) {
            long from = starts.of(id, 0);
            long to = ends.of(id, 0);
            refuseTurned(from, to);
            if (from < to && selection.partitions().contains(id)) {
                add(id, LongSet.between(from, to - 1).and(selection.offsets()), ranges);
            }
        }
        return ranges;
    }

    // By time, or by a consumer's place, the end may well be before the beginning: there is nothing between them then.
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

    private void add(int id, LongSet offsets, List<ReadRange> ranges) {
        MmapQueue queue = partitions.queue(id);
        LongSet wanted = selection.isByTime() ? offsets.and(offsetsOf(queue)) : offsets;
        long first = queue.firstOffset();
        for (LongSet.Interval each : wanted.intervals()) {
            long to = each.high() + 1;
            if (each.low() < first && isNamed(id)) {
                DataLoss.found(
                        options.failOnDataLoss(),
                        partitions.directories().get(id),
                        each.low(),
                        Math.min(first, to),
                        "the first one that is retained is " + first);
            }
            if (Math.max(each.low(), first) < to) {
                ranges.add(new ReadRange(id, Math.max(each.low(), first), to));
            }
        }
    }

    // Only a number can be too low: every other start is a record that was retained just now.
    private boolean isNamed(int id) {
        return options.startingTimestamp().isEmpty()
                && options.startingOffsets().isNumber(id);
    }

    // Times never fall along the log, so the records of an interval of times lie between two offsets; with them those
    // that have none.
    private LongSet offsetsOf(MmapQueue queue) {
        LongSet offsets = LongSet.NONE;
        try {
            for (LongSet.Interval each : selection.timestamps().intervals()) {
                long from = offsetOf(queue, each.low());
                long to = each.high() == Long.MAX_VALUE ? Long.MAX_VALUE : offsetOf(queue, each.high() + 1);
                offsets = offsets.or(LongSet.between(from, to == Long.MAX_VALUE ? to : to - 1));
            }
            return offsets;
        } catch (ConfigException e) {
            return LongSet.ALL; // stores no times now, but what lies there may be older
        }
    }

    private static long offsetOf(MmapQueue queue, long micros) {
        OptionalLong found = queue.find(Math.max(0, micros));
        return found.isPresent() ? found.getAsLong() : Long.MAX_VALUE;
    }
}
