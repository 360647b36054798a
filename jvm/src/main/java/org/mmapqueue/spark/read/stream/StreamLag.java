package org.mmapqueue.spark.read.stream;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.read.plan.Backlog;

/** The lag of a query: the records between its consumed offsets and the log end; 0 if it has read everything. */
final class StreamLag {
    /** The number of partitions that a progress shows one by one. */
    private static final int MOST_SHOWN = 10;

    private final List<Part> parts = new ArrayList<>();

    /** The lag of a partition from an offset on. */
    private record Part(int id, long offset, Backlog lag) {
        long records() {
            return lag.records();
        }

        String json() {
            return "{\"partition\":" + id + ",\"offset\":" + offset + ",\"end\":" + (offset + records()) + ",\""
                    + Metric.LAG_RECORDS.shortName() + "\":" + records() + ",\""
                    + Metric.LAG_BYTES.shortName() + "\":" + lag.bytes() + ",\""
                    + Metric.OLDEST_UNACKED_AGE.shortName() + "\":" + lag.ageMicros() / 1e6 + "}";
        }
    }

    /**
     * Reads the state of all partitions.
     *
     * @param queue the partitions of the query
     * @param consumed consumed offsets
     */
    StreamLag(StreamQueue queue, PartitionOffsets consumed) {
        queue.partitions().forEach((id, partition) -> {
            long offset = consumed.of(id, queue.start(id));
            parts.add(new Part(id, offset, Backlog.behind(partition.records(), offset)));
        });
    }

    /** The lag over all partitions. */
    Backlog total() {
        return parts.stream().map(Part::lag).reduce(Backlog.NONE, Backlog::plus);
    }

    /**
     * The metrics by name, for the query's progress: Spark's own names for the first three, {@link Metric}'s where it has
     * one. Their number does not depend on that of the partitions.
     */
    Map<String, String> figures() {
        LongSummaryStatistics offsets = parts.stream().mapToLong(Part::records).summaryStatistics();
        Backlog total = total();
        Map<String, String> figures = new LinkedHashMap<>();
        figures.put("minOffsetsBehindLatest", Long.toString(offsets.getMin()));
        figures.put("maxOffsetsBehindLatest", Long.toString(offsets.getMax()));
        figures.put("avgOffsetsBehindLatest", Double.toString(offsets.getAverage()));
        figures.put(Metric.LAG_RECORDS.shortName(), Long.toString(total.records()));
        figures.put(Metric.LAG_BYTES.shortName(), Long.toString(total.bytes()));
        figures.put(Metric.OLDEST_UNACKED_AGE.shortName(), Double.toString(total.ageMicros() / 1e6));
        figures.put("partitions", Integer.toString(parts.size()));
        figures.put(
                "partitions_behind",
                Long.toString(parts.stream().filter(each -> each.records() > 0).count()));
        figures.put("slowest_partitions", slowest());
        return figures;
    }

    // Those with the most records; the sort is stable, so equal ones are by number.
    private String slowest() {
        return parts.stream()
                .sorted(Comparator.comparingLong(Part::records).reversed())
                .limit(MOST_SHOWN)
                .map(Part::json)
                .collect(Collectors.joining(",", "[", "]"));
    }

    /** The slowest consumers of the rings, which need not be the query's own. */
    static Map<String, String> holders(StreamQueue queue) {
        SortedSet<String> names = new TreeSet<>();
        long bytes = 0;
        for (StreamPartition each : queue.partitions().values()) {
            StreamPartition.Holder holder = each.holder().orElse(null);
            if (holder != null) {
                names.add(holder.name());
                bytes = Math.max(bytes, holder.lagBytes());
            }
        }
        return names.isEmpty()
                ? Map.of()
                : Map.of(
                        "slowest_consumer",
                        String.join(", ", names),
                        "slowest_consumer_lag_bytes",
                        Long.toString(bytes));
    }
}
