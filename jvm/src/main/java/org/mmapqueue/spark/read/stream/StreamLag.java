package org.mmapqueue.spark.read.stream;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.common.PartitionOffsets;

/**
 * How far a query is behind, from what it has read and where the queue ends now: 0 when it has read everything. And which
 * consumers hold the ring: a query that has read all may still stand beside one that has not.
 */
final class StreamLag {
    private final LongSummaryStatistics offsets = new LongSummaryStatistics();
    private long bytes;
    private long oldestMicros = Long.MAX_VALUE;
    private long heldBytes;
    private final SortedSet<String> holders = new TreeSet<>();

    /**
     * Looks at all partitions.
     *
     * @param queue those that the query reads
     * @param consumed where it stands
     */
    StreamLag(StreamQueue queue, PartitionOffsets consumed) {
        queue.partitions().forEach((id, partition) -> add(partition.queue(), consumed.of(id, queue.start(id))));
    }

    private void add(MmapQueue queue, long consumed) {
        QueueStats stats = queue.stats();
        holders.add(stats.slowestConsumer()); // there is one at least, the query's own
        heldBytes = Math.max(heldBytes, stats.writingPosition() - stats.lowWatermark());
        long end = queue.endOffset();
        offsets.accept(Math.max(0, end - consumed));
        if (consumed < end) {
            try {
                bytes += queue.bytes(consumed, end);
                queue.getMany(
                        consumed,
                        1,
                        1,
                        (offset, timestamp, buffer, start, length, attempts) ->
                                oldestMicros = timestamp == 0 ? oldestMicros : Math.min(oldestMicros, timestamp));
            } catch (OutOfRangeException e) {
                // Lost: that is for the next batch to say.
            }
        }
    }

    /** By name, as Spark shows them in a query's progress. */
    Map<String, String> figures() {
        Map<String, String> figures = new LinkedHashMap<>();
        long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        long age = oldestMicros == Long.MAX_VALUE ? 0 : Math.max(0, now - oldestMicros) / 1000;
        figures.put("minOffsetsBehindLatest", Long.toString(offsets.getMin()));
        figures.put("maxOffsetsBehindLatest", Long.toString(offsets.getMax()));
        figures.put("avgOffsetsBehindLatest", Double.toString(offsets.getAverage()));
        figures.put("bytesBehindLatest", Long.toString(bytes));
        figures.put("ageOfOldestUnreadMs", Long.toString(age));
        figures.put("slowestConsumer", String.join(", ", holders));
        figures.put("slowestConsumerBytesBehind", Long.toString(heldBytes));
        return figures;
    }
}
