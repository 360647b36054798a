package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.spark.source.ReadablePartition;

/** Leaves records out of ranges that no file of an archive has. */
public final class Gaps {
    private Gaps() {}

    /**
     * Splits a range at its gaps.
     *
     * @param partition the partition of the range
     * @param range the range to read
     * @param failOnDataLoss whether a gap is an error; if false, it is logged
     * @return the parts of the range that have records, in order
     * @throws IllegalStateException if a gap is an error
     */
    public static List<ReadRange> without(ReadablePartition partition, ReadRange range, boolean failOnDataLoss) {
        List<ReadRange> parts = new ArrayList<>();
        long at = range.from();
        for (ReadablePartition.Missing each : partition.missing(range.from(), range.to())) {
            DataLoss.found(failOnDataLoss, range.partition(), partition.path(), each.from(), each.to(), each.why());
            if (each.from() > at) {
                parts.add(new ReadRange(range.partition(), at, each.from()));
            }
            at = each.to();
        }
        if (at < range.to()) {
            parts.add(new ReadRange(range.partition(), at, range.to()));
        }
        return parts;
    }
}
