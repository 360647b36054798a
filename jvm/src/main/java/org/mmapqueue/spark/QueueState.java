package org.mmapqueue.spark;

import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.QueueStats;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.source.LocalPartition;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;

/** The state of a queue, as properties of its table. */
final class QueueState {
    private QueueState() {}

    /**
     * Reads the present state.
     *
     * @param location the location of an existing queue
     * @return properties {@code queue.…}; {@code queue.error} if the queue cannot be opened
     */
    static Map<String, String> of(Location location) {
        Map<String, String> state = new TreeMap<>();
        try (OpenPartitions queue = location.open()) {
            PartitionOffsets earliest = queue.earliest();
            PartitionOffsets latest = queue.latest();
            state.put("queue.partitions", Integer.toString(queue.count()));
            state.put("queue.earliestOffsets", earliest.json());
            state.put("queue.latestOffsets", latest.json());
            state.put("queue.records", Long.toString(sum(latest) - sum(earliest)));
            state.put(
                    "queue.bytes",
                    Long.toString(sum(queue.offsets(each -> each.bytes(each.firstOffset(), each.endOffset())))));
            long capacity = 0;
            for (ReadablePartition each : queue.all()) {
                if (each instanceof LocalPartition local) {
                    QueueStats stats = local.queue().stats();
                    state.putIfAbsent("queue.segmentSize", Integer.toString(stats.segmentSize()));
                    capacity += (long) stats.capacitySegments() * stats.segmentSize();
                }
                each.committedOffsets()
                        .forEach((consumer, offset) -> state.merge(
                                "queue.consumer." + consumer,
                                "\"" + each.id() + "\":" + offset,
                                (before, more) -> before + "," + more));
            }
            if (capacity > 0) {
                state.put("queue.capacityBytes", Long.toString(capacity));
            }
            state.replaceAll((key, value) -> key.startsWith("queue.consumer.") ? "{" + value + "}" : value);
        } catch (MmapQueueException e) {
            state.put("queue.error", e.getMessage());
        }
        return state;
    }

    private static long sum(PartitionOffsets offsets) {
        return offsets.map().values().stream().mapToLong(Long::longValue).sum();
    }
}
