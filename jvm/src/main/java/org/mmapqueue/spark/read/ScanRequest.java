package org.mmapqueue.spark.read;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.read.plan.RangeFinder;
import org.mmapqueue.spark.read.plan.ReadOptions;
import org.mmapqueue.spark.read.plan.ReadRange;
import org.mmapqueue.spark.read.plan.TopRanges;
import org.mmapqueue.spark.read.pushdown.RowConditions;
import org.mmapqueue.spark.read.pushdown.Selection;
import org.mmapqueue.spark.read.pushdown.TopRecords;
import org.mmapqueue.spark.read.task.BatchRows;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.source.OpenPartitions;

/**
 * The request of a query: columns, filters, limit and offset. Immutable.
 *
 * @param location the queue
 * @param options the options of reading
 * @param columns the columns to read
 * @param selection the matching records
 * @param limit the limit of rows, applied before {@code skip}
 * @param skip the number of rows to skip at the beginning
 * @param top the records of each partition that an order with a limit needs; null for all
 */
record ScanRequest(
        Location location,
        ReadOptions options,
        StructType columns,
        Selection selection,
        long limit,
        long skip,
        TopRecords top) {
    /** No limit. */
    static final long UNLIMITED = Long.MAX_VALUE;

    /** Whether nothing is pushed down. */
    boolean isPlain() {
        return selection.equals(Selection.ALL) && limit == UNLIMITED && skip == 0 && top == null;
    }

    /** Whether records have to be read, and not only their offsets. */
    boolean isStored() {
        return BatchRows.needRecords(columns) || selection.isByTime();
    }

    /** The conditions that tasks check for each record. */
    RowConditions conditions() {
        return selection.isByTime() ? new RowConditions(selection.timestamps(), limit) : RowConditions.NONE;
    }

    /** The ranges to read of an open queue: those that match, within limit, skip and order. */
    List<ReadRange> ranges(OpenPartitions partitions) {
        List<ReadRange> ranges = new RangeFinder(partitions, options, selection, top != null).find();
        if (top != null) {
            return new TopRanges(partitions, top, selection).cut(ranges);
        }
        if (selection.isByTime()) {
            return ranges; // each task stops at the limit; Spark applies the rest
        }
        List<ReadRange> cut = new ArrayList<>();
        long left = limit;
        long toSkip = skip;
        for (ReadRange each : ranges) {
            long count = Math.min(left, each.records());
            long skipped = Math.min(toSkip, count);
            left -= count;
            toSkip -= skipped;
            if (skipped < count) {
                cut.add(new ReadRange(each.partition(), each.from() + skipped, each.from() + count));
            }
        }
        return cut;
    }

    /**
     * The request, for messages.
     *
     * @param ranges what the scan reads, as text; empty if that is not known yet
     */
    String describe(String ranges) {
        return describe("PushedColumns: [" + String.join(", ", columns.fieldNames()) + "]", "", ranges);
    }

    /** The request of aggregates, for messages. */
    String describeAggregates(String aggregates) {
        return describe("", aggregates, "");
    }

    private String describe(String read, String aggregates, String ranges) {
        List<String> parts = new ArrayList<>(List.of(
                "from " + options.startingText(),
                "to " + options.endingText(),
                read,
                "PushedFilters: [" + selection + "]",
                aggregates));
        if (limit != UNLIMITED) {
            parts.add("PushedLimit: " + limit);
        }
        if (skip > 0) {
            parts.add("PushedOffset: " + skip);
        }
        if (top != null) {
            parts.add(top.toString());
        }
        if (!ranges.isEmpty()) {
            parts.add("Offsets: " + ranges);
        }
        parts.removeIf(String::isEmpty);
        return "mmapqueue " + location + " (" + String.join(", ", parts) + ")";
    }
}
