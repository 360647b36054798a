package org.mmapqueue.tool.scan;

import java.util.List;
import org.mmapqueue.segment.Geometry;

/**
 * Bounds on the number of records lost in each of several holes: the fewest and the most that fit into the hole's
 * bytes. A known total narrows the bounds. Immutable.
 */
final class HoleCounts {
    /** Prefix sums: of the first i holes. */
    private final long[] least;

    private final long[] most;
    private final int last;

    private HoleCounts(List<Hole> holes, Geometry geometry, boolean trusting) {
        last = holes.size();
        least = new long[last + 1];
        most = new long[last + 1];
        for (int i = 0; i < last; i++) {
            Hole hole = holes.get(i);
            boolean one = trusting && hole.single;
            least[i + 1] = least[i] + (one ? 1 : hole.least(geometry));
            most[i + 1] = most[i] + (one ? 1 : hole.most(geometry));
        }
    }

    /** Counts a hole as one record where a header describes one record that fills it. */
    static HoleCounts of(List<Hole> holes, Geometry geometry) {
        return new HoleCounts(holes, geometry, true);
    }

    /** As {@link #of(List, Geometry)}; by the bytes alone if the headers contradict this total. */
    static HoleCounts of(List<Hole> holes, Geometry geometry, long lost) {
        HoleCounts counts = of(holes, geometry);
        return counts.allow(lost) ? counts : new HoleCounts(holes, geometry, false);
    }

    /** Whether this number of records can have been lost in all holes together. */
    boolean allow(long lost) {
        return lost >= least[last] && lost <= most[last];
    }

    /** The possible total that is nearest to this number. */
    long nearest(long lost) {
        return Math.max(least[last], Math.min(lost, most[last]));
    }

    /** The fewest records that were lost in the first {@code count} holes. */
    long least(int count) {
        return least[count];
    }

    /** The most records that were lost in the first {@code count} holes. */
    long most(int count) {
        return most[count];
    }

    /** The fewest records that were lost in the first {@code count} holes, given the total. */
    long least(int count, long lost) {
        return Math.max(least[count], lost - (most[last] - most[count]));
    }

    /** Whether the total determines the number of records lost in the first {@code count} holes. */
    boolean isKnown(int count, long lost) {
        return least(count, lost) == Math.min(most[count], lost - (least[last] - least[count]));
    }

    /** The first hole with a count that its bytes do not determine; the number of holes if all are determined. */
    int firstOpen() {
        int i = 0;
        while (i < last && isFixed(i)) {
            i++;
        }
        return i;
    }

    /** The last such hole; -1 if all are determined. */
    int lastOpen() {
        int i = last - 1;
        while (i >= 0 && isFixed(i)) {
            i--;
        }
        return i;
    }

    private boolean isFixed(int i) {
        return most[i + 1] - most[i] == least[i + 1] - least[i];
    }
}
