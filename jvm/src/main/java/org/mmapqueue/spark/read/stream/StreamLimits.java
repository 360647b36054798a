package org.mmapqueue.spark.read.stream;

import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.CompositeReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReadMinRows;

/**
 * Admission control: how many of the available records a micro-batch takes. Immutable.
 *
 * @param minRows a batch waits until this many rows are available; 0 for no waiting
 * @param maxDelayMillis maximum wait, in ms
 * @param maxRows approximate upper limit of rows: each partition with unread records gets at least one
 * @param maxBytes approximate upper limit of log bytes; the size of a range is interpolated within its segments
 */
record StreamLimits(long minRows, long maxDelayMillis, long maxRows, long maxBytes) {
    /** No limit at all. */
    static final StreamLimits NONE = new StreamLimits(0, 0, Long.MAX_VALUE, Long.MAX_VALUE);

    /** A range of offsets in a partition; {@code to} is exclusive. */
    record Range(long from, long to) {
        long size() {
            return Math.max(0, to - from);
        }
    }

    /** Sizes in bytes of a partition's records. */
    interface Bytes {
        /** The approximate size of a range, in bytes. */
        long of(int partition, long from, long to);

        /** The end of the part of a range that has at most a number of bytes; the first record is always in it. */
        long endWithin(int partition, long from, long to, long most);

        /** The upper limit of a batch, in bytes. */
        long most(int partition);
    }

    /**
     * These limits as Spark's type. Limits in bytes are not included, as not all supported versions of Spark have them.
     * The result only has to differ from allAvailable, which Spark passes for a query that runs once.
     */
    ReadLimit asReadLimit() {
        ReadLimit most = ReadLimit.maxRows(maxRows);
        return minRows == 0
                ? most
                : ReadLimit.compositeLimit(new ReadLimit[] {ReadLimit.minRows(minRows, maxDelayMillis), most});
    }

    /** The limits that Spark asks for; empty if it asks for all available records. */
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

    /** Whether the batch waits for more records; never if the records that wait may soon fill the ring. */
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
     * Computes the end of a batch.
     *
     * @param there the available ranges
     * @param bytes the sizes of ranges
     * @return ranges with the same start, shortened to the limits
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
                            : new Range(range.from(), bytes.endWithin(id, range.from(), range.to(), most)));
        });
        return result;
    }

    // A partition's share of the limit: in proportion to its size, but at least 1, so that small partitions are read,
    // too.
    private static long share(long limit, long size, double total) {
        return size == 0 ? 0 : Math.min(size, Math.max(1, (long) (limit * (size / total))));
    }
}
