package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.List;

/** Writes ranges for people: the nodes of plans show what is read. */
public final class RangesText {
    /** The number of ranges that a text names. */
    static final int MOST = 8;

    private RangesText() {}

    /**
     * Names the first ranges, and counts the others.
     *
     * @param ranges the ranges; an end of {@link Long#MAX_VALUE} is not known yet
     * @return such as {@code [0: 12..39, 1: 7..9]}, with the first and the last offset of each range
     */
    public static String of(List<ReadRange> ranges) {
        List<String> parts = new ArrayList<>();
        for (ReadRange each : ranges.subList(0, Math.min(MOST, ranges.size()))) {
            parts.add(each.partition() + ": " + each.from() + ".."
                    + (each.to() == Long.MAX_VALUE ? "" : Long.toString(each.to() - 1)));
        }
        if (ranges.size() > MOST) {
            parts.add("and " + (ranges.size() - MOST) + " more");
        }
        return "[" + String.join(", ", parts) + "]";
    }
}
