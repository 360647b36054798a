package org.mmapqueue.spark.read.pushdown;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A set of long integers, as intervals. Immutable.
 *
 * @param intervals the intervals, ascending, with gaps between them
 */
public record LongSet(List<Interval> intervals) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** All numbers. */
    public static final LongSet ALL = between(Long.MIN_VALUE, Long.MAX_VALUE);
    /** No number. */
    public static final LongSet NONE = new LongSet(List.of());

    /**
     * An interval.
     *
     * @param low the lowest number
     * @param high the highest number, at least {@code low}
     */
    public record Interval(long low, long high) implements Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public String toString() {
            if (low == high) {
                return Long.toString(low);
            }
            return (low == Long.MIN_VALUE ? "" : low) + ".." + (high == Long.MAX_VALUE ? "" : high);
        }
    }

    public LongSet(List<Interval> intervals) {
        this.intervals = List.copyOf(intervals);
    }

    /** The numbers from low to high; empty if low is above high. */
    public static LongSet between(long low, long high) {
        return low > high ? NONE : new LongSet(List.of(new Interval(low, high)));
    }

    /** The numbers below a bound. */
    static LongSet below(long number) {
        return number == Long.MIN_VALUE ? NONE : between(Long.MIN_VALUE, number - 1);
    }

    /** The numbers above a bound. */
    static LongSet above(long number) {
        return number == Long.MAX_VALUE ? NONE : between(number + 1, Long.MAX_VALUE);
    }

    /** The union. */
    public LongSet or(LongSet other) {
        List<Interval> all = new ArrayList<>(intervals);
        all.addAll(other.intervals);
        all.sort(Comparator.comparingLong(Interval::low));
        List<Interval> merged = new ArrayList<>();
        for (Interval each : all) {
            Interval last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
            if (last != null && (last.high == Long.MAX_VALUE || each.low <= last.high + 1)) {
                merged.set(merged.size() - 1, new Interval(last.low, Math.max(last.high, each.high)));
            } else {
                merged.add(each);
            }
        }
        return new LongSet(merged);
    }

    /** The intersection. */
    public LongSet and(LongSet other) {
        List<Interval> both = new ArrayList<>();
        int i = 0;
        int j = 0;
        while (i < intervals.size() && j < other.intervals.size()) {
            Interval one = intervals.get(i);
            Interval two = other.intervals.get(j);
            long low = Math.max(one.low, two.low);
            long high = Math.min(one.high, two.high);
            if (low <= high) {
                both.add(new Interval(low, high));
            }
            if (one.high < two.high) {
                i++;
            } else {
                j++;
            }
        }
        return new LongSet(both);
    }

    /** The complement. */
    LongSet not() {
        LongSet rest = ALL;
        for (Interval each : intervals) {
            rest = rest.and(below(each.low).or(above(each.high)));
        }
        return rest;
    }

    /** Whether the set contains a number. */
    public boolean contains(long number) {
        int low = 0;
        int high = intervals.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            Interval at = intervals.get(middle);
            if (number < at.low) {
                high = middle - 1;
            } else if (number > at.high) {
                low = middle + 1;
            } else {
                return true;
            }
        }
        return false;
    }

    /** Whether the set is empty. */
    boolean isEmpty() {
        return intervals.isEmpty();
    }

    /** The interval from the lowest to the highest number. */
    public LongSet hull() {
        return isEmpty() ? this : between(intervals.get(0).low, intervals.get(intervals.size() - 1).high);
    }

    @Override
    public String toString() {
        return intervals.stream().map(Interval::toString).collect(Collectors.joining(", ", "[", "]"));
    }
}
