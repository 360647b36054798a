package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.read.pushdown.RowConditions;
import org.mmapqueue.spark.read.pushdown.Selection;
import org.mmapqueue.spark.read.pushdown.TopRecords;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;
import org.mmapqueue.spark.source.SequentialReader;

/** Reduces ranges to the records that ORDER BY … LIMIT needs. Not thread-safe. */
public final class TopRanges {
    /** The maximum number of log bytes of a partition that planning reads for timestamps; takes some milliseconds. */
    private static final long MOST_BYTES = 16 << 20;

    private static final int RECORDS = 4096;

    private final OpenPartitions partitions;
    private final TopRecords top;
    private final Selection selection;

    /** Makes an instance for an open queue. */
    public TopRanges(OpenPartitions partitions, TopRecords top, Selection selection) {
        this.partitions = partitions;
        this.top = top;
        this.selection = selection;
    }

    /**
     * Drops the ranges that are not needed of each partition.
     *
     * @param ranges ranges by partition and offset
     * @return the first or last records of each partition, in the same order; all of a partition's ranges where
     *     timestamps matter and some of these records have none
     */
    public List<ReadRange> cut(List<ReadRange> ranges) {
        List<ReadRange> all = new ArrayList<>();
        for (ReadablePartition partition : partitions.all()) {
            List<ReadRange> own = ranges.stream()
                    .filter(each -> each.partition() == partition.id())
                    .toList();
            List<ReadRange> needed = top.last() ? last(own) : first(own);
            boolean byTime = top.byTime() || selection.isByTime();
            all.addAll(byTime && !haveTimes(partition, needed) ? own : needed);
        }
        return all;
    }

    private List<ReadRange> first(List<ReadRange> ranges) {
        List<ReadRange> first = new ArrayList<>();
        long left = top.limit();
        for (ReadRange each : ranges) {
            long count = Math.min(left, each.records());
            if (count > 0) {
                first.add(new ReadRange(each.partition(), each.from(), each.from() + count));
            }
            left -= count;
        }
        return first;
    }

    private List<ReadRange> last(List<ReadRange> ranges) {
        List<ReadRange> last = new ArrayList<>();
        long left = top.limit();
        for (int i = ranges.size() - 1; i >= 0; i--) {
            ReadRange each = ranges.get(i);
            long count = Math.min(left, each.records());
            if (count > 0) {
                last.add(new ReadRange(each.partition(), each.to() - count, each.to()));
            }
            left -= count;
        }
        Collections.reverse(last);
        return last;
    }

    // Whether the order by time agrees with the order of offsets. Timestamps never decrease along the log. So if these
    // records have timestamps that match, they are also the first or last ones by time: records without a timestamp
    // among the others are sorted after them, or do not match.
    private boolean haveTimes(ReadablePartition partition, List<ReadRange> ranges) {
        RowConditions conditions =
                selection.isByTime() ? new RowConditions(selection.timestamps(), Long.MAX_VALUE) : RowConditions.TIMED;
        try {
            for (ReadRange each : ranges) {
                if (partition.bytes(each.from(), each.to()) > MOST_BYTES || !haveTimes(partition, each, conditions)) {
                    return false;
                }
            }
            return true;
        } catch (OutOfRangeException | CorruptException e) {
            return false; // the task that reads the range reports it
        }
    }

    private static boolean haveTimes(ReadablePartition partition, ReadRange range, RowConditions conditions) {
        long[] matching = new long[1];
        try (SequentialReader reader = partition.reader(range.from(), range.to(), false)) {
            while (reader.offset() < range.to()
                    && reader.read(
                                    RECORDS,
                                    MOST_BYTES,
                                    (offset, timestamp, buffer, start, length, attempts) ->
                                            matching[0] += conditions.accept(timestamp) ? 1 : 0)
                            > 0) {}
        }
        return matching[0] == range.records();
    }
}
