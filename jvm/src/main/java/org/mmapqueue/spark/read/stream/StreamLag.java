package org.mmapqueue.spark.read.stream;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.source.ReadablePartition;

/**
 * The lag of a query: the records between its consumed offsets and the log end; 0 if it has read everything. Also names
 * the slowest consumers of the ring, which need not be the query's own.
 */
final class StreamLag {
    private final LongSummaryStatistics offsets = new LongSummaryStatistics();
    private long bytes;
    private long oldestMicros = Long.MAX_VALUE;
    private long heldBytes;
    private final SortedSet<String> holders = new TreeSet<>();

    /**
     * Reads the state of all partitions.
     *
     * @param queue the partitions of the query
     * @param consumed consumed offsets
     */
    StreamLag(StreamQueue queue, PartitionOffsets consumed) {
        queue.partitions().forEach((id, partition) -> add(partition, consumed.of(id, queue.start(id))));
    }

    private void add(StreamPartition partition, long consumed) {
        partition.holder().ifPresent(each -> {
            holders.add(each.name());
            heldBytes = Math.max(heldBytes, each.lagBytes());
        });
        ReadablePartition records = partition.records();
        long end = records.endOffset();
        offsets.accept(Math.max(0, end - consumed));
        if (consumed < end) {
            try {
                bytes += records.estimatedBytes(consumed, end);
                long first = records.minTimestampMicros(consumed, end);
                oldestMicros = first == 0 ? oldestMicros : Math.min(oldestMicros, first);
            } catch (OutOfRangeException | CorruptException e) {
                // The records are lost or damaged: the next batch reports or skips them.
            }
        }
    }

    /** The metrics by name, for the query's progress: Spark's own names for the first three, {@link Metric}'s where it has one. */
    Map<String, String> figures() {
        Map<String, String> figures = new LinkedHashMap<>();
        long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        long age = oldestMicros == Long.MAX_VALUE ? 0 : Math.max(0, now - oldestMicros);
        figures.put("minOffsetsBehindLatest", Long.toString(offsets.getMin()));
        figures.put("maxOffsetsBehindLatest", Long.toString(offsets.getMax()));
        figures.put("avgOffsetsBehindLatest", Double.toString(offsets.getAverage()));
        figures.put(Metric.LAG_RECORDS.shortName(), Long.toString(offsets.getSum()));
        figures.put(Metric.LAG_BYTES.shortName(), Long.toString(bytes));
        figures.put(Metric.OLDEST_UNACKED_AGE.shortName(), Double.toString(age / 1e6));
        if (!holders.isEmpty()) {
            figures.put("slowest_consumer", String.join(", ", holders));
            figures.put("slowest_consumer_lag_bytes", Long.toString(heldBytes));
        }
        return figures;
    }
}
