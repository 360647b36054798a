package org.mmapqueue.spark.read.stream;

import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReadMinRows;

/**
 * How much a batch takes of what there is. Immutable.
 *
 * @param minRows fewer rows than these wait; 0 when none do
 * @param maxDelayMillis the longest that they wait
 * @param maxRows about the most rows: no partition with something to read gets less than one
 * @param maxBytes about the most bytes of the log; bytes are placed by the share of a segment's records
 */
record StreamLimits(long minRows, long maxDelayMillis, long maxRows, long maxBytes) {
    /** No limit at all. */
    static final StreamLimits NONE = new StreamLimits(0, 0, Long.MAX_VALUE, Long.MAX_VALUE);

    /** A range of a partition. */
    record Range(long from, long to) {
        long size() {
            return Math.max(0, to - from);
        }
    }

    /** What is known of a partition's records. */
    interface Bytes {
        /** How many bytes a range takes. */
        long of(int partition, long from, long to);

        /** The most bytes that a batch may hold. */
        long most(int partition);
    }

    /**
     * As Spark is told of it. The limits in bytes have no form that all versions of Spark know, so a limit of rows
     * stands for them: what must differ is that without a limit, which Spark asks for when a query is to run once.
     */
    ReadLimit asReadLimit() {
        ReadLimit most = ReadLimit.maxRows(maxRows);
        return minRows == 0
                ? most
                : ReadLimit.compositeLimit(new ReadLimit[] {ReadLimit.minRows(minRows, maxDelayMillis), most});
    }

    /** What Spark asks for: these limits as it hands them back; empty for none. */
    Optional<StreamLimits> under(ReadLimit limit) {
        return limit.equals(ReadLimit.allAvailable())
                ? Optional.empty()
                : Optional.of(NONE.and(limit).withBytes(maxBytes));
    }

    private StreamLimits withBytes(long bytes) {
        return new StreamLimits(minRows, maxDelayMillis, maxRows, bytes);
    }

    private StreamLimits and(ReadLimit limit) {
        StreamLimits result = this;
        if (limit instanceof CompositeReadLimit all) {
            for (ReadLimit each : all.getReadLimits()) {
                result = result.and(each);
            }
        } else if (limit instanceof ReadMaxRows most) {
            result = new StreamLimits(minRows, maxDelayMillis, most.maxRows(), maxBytes);
        } else if (limit instanceof ReadMinRows least) {
            result = new StreamLimits(least.minRows(), least.maxTriggerDelayMs(), maxRows, maxBytes);
        }
        return result;
    }

    /** Whether there is too little for a batch; never when what waits may soon stand in the way of more. */
    boolean waits(SortedMap<Integer, Range> there, long millisSinceLast, Bytes bytes) {
        return minRows > 0
                && millisSinceLast < maxDelayMillis
                && rows(there) < minRows
                && there.entrySet().stream()
                        .allMatch(each -> each.getValue().size() == 0
                                || bytes.of(
                                                each.getKey(),
                                                each.getValue().from(),
                                                each.getValue().to())
                                        < bytes.most(each.getKey()) / 2);
    }

    private static double rows(SortedMap<Integer, Range> ranges) {
        return ranges.values().stream().mapToDouble(Range::size).sum();
    }

    /**
     * Where a batch ends.
     *
     * @param there what there is to read
     * @param bytes what is known of it
     * @return the end of each range, or a place within it
     */
    SortedMap<Integer, Range> take(SortedMap<Integer, Range> there, Bytes bytes) {
        SortedMap<Integer, Range> byRows = there;
        double total = rows(there);
        if (total > maxRows) {
            byRows = new TreeMap<>();
            for (Integer id : there.keySet()) {
                Range range = there.get(id);
                byRows.put(
                        id,
                        new Range(
                                range.from(),
                                range.to() <= range.from()
                                        ? range.to()
                                        : range.from() + share(maxRows, range.size(), total)));
            }
        }
        return byBytes(byRows, bytes);
    }

    private SortedMap<Integer, Range> byBytes(SortedMap<Integer, Range> ranges, Bytes bytes) {
        SortedMap<Integer, Long> sizes = new TreeMap<>();
        ranges.forEach((id, range) -> sizes.put(id, range.size() == 0 ? 0 : bytes.of(id, range.from(), range.to())));
        double total = sizes.values().stream().mapToDouble(size -> size).sum();
        SortedMap<Integer, Range> result = new TreeMap<>();
        ranges.forEach((id, range) -> {
            if (range.size() == 0) {
                result.put(id, range);
                return;
            }
            long share = total <= maxBytes ? Long.MAX_VALUE : share(maxBytes, sizes.get(id), total);
            long most = Math.min(share, bytes.most(id));
            result.put(
                    id,
                    sizes.get(id) <= most
                            ? range
                            : new Range(range.from(), last(range, most, to -> bytes.of(id, range.from(), to))));
        });
        return result;
    }

    // In proportion, but at least 1 of a part that has any: a small partition beside large ones would never be read.
    private static long share(long limit, long size, double total) {
        return size == 0 ? 0 : Math.min(size, Math.max(1, (long) (limit * (size / total))));
    }

    // The last end for which the size is within the limit, but for the first record, which a batch takes in any case.
    private static long last(Range range, long limit, LongUnaryOperator sizeUpTo) {
        long low = range.from() + 1;
        long high = range.to();
        while (low < high) {
            long middle = low + (high - low + 1) / 2;
            if (sizeUpTo.applyAsLong(middle) <= limit) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }
}
