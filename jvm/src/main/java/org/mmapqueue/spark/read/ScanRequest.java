package org.mmapqueue.spark.read;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.read.plan.ReadOptions;
import org.mmapqueue.spark.read.plan.ReadRange;
import org.mmapqueue.spark.read.pushdown.RowConditions;
import org.mmapqueue.spark.read.pushdown.Selection;
import org.mmapqueue.spark.read.task.BatchRows;

/**
 * What a query asks of a queue. Immutable.
 *
 * @param path the queue's directory
 * @param options the options of reading
 * @param columns those that are read
 * @param selection the records that count
 * @param limit the most rows; applies before {@code skip}
 * @param skip how many rows are left out at the beginning
 */
record ScanRequest(Path path, ReadOptions options, StructType columns, Selection selection, long limit, long skip) {
    /** No limit. */
    static final long UNLIMITED = Long.MAX_VALUE;

    /** Whether nothing but options says what is read. */
    boolean isPlain() {
        return selection.equals(Selection.ALL) && limit == UNLIMITED && skip == 0;
    }

    /** Whether records have to be read, and not their offsets alone. */
    boolean isStored() {
        return BatchRows.needRecords(columns) || selection.isByTime();
    }

    /** What tasks look at record by record. */
    RowConditions conditions() {
        return selection.isByTime() ? new RowConditions(selection.timestamps(), limit) : RowConditions.NONE;
    }

    /** Leaves of ranges what limit and skip leave of their rows. */
    List<ReadRange> cut(List<ReadRange> ranges) {
        if (selection.isByTime()) {
            return ranges; // each task stops at the limit, and Spark does the rest
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
     * What was asked for, for people.
     *
     * @param more what the scan does besides; may be empty
     */
    String describe(String more) {
        List<String> parts = new ArrayList<>();
        parts.add("from " + options.startingText());
        parts.add("to " + options.endingText());
        if (more.isEmpty()) {
            parts.add("PushedColumns: [" + String.join(", ", columns.fieldNames()) + "]");
        }
        parts.add("PushedFilters: [" + selection + "]");
        if (!more.isEmpty()) {
            parts.add(more);
        }
        if (limit != UNLIMITED) {
            parts.add("PushedLimit: " + limit);
        }
        if (skip > 0) {
            parts.add("PushedOffset: " + skip);
        }
        return "mmapqueue " + path + " (" + String.join(", ", parts) + ")";
    }
}
