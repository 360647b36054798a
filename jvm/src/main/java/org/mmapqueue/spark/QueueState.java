package org.mmapqueue.spark;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.QueueStats;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.spark.common.OpenPartitions;
import org.mmapqueue.spark.common.PartitionOffsets;

/** The state of a queue, as properties of its table. */
final class QueueState {
    private QueueState() {}

    /**
     * Reads the present state.
     *
     * @param root the directory of an existing queue
     * @return properties {@code queue.…}; {@code queue.error} if the queue cannot be opened
     */
    static Map<String, String> of(Path root) {
        Map<String, String> state = new TreeMap<>();
        try (OpenPartitions queue = new OpenPartitions(root)) {
            PartitionOffsets earliest = queue.earliest();
            PartitionOffsets latest = queue.latest();
            state.put("queue.partitions", Integer.toString(queue.count()));
            state.put("queue.earliestOffsets", earliest.json());
            state.put("queue.latestOffsets", latest.json());
            state.put("queue.records", Long.toString(sum(latest) - sum(earliest)));
            state.put(
                    "queue.bytes",
                    Long.toString(
                            sum(queue.offsets((partition, each) -> each.bytes(each.firstOffset(), each.endOffset())))));
            QueueStats first = queue.queue(0).stats();
            state.put("queue.segmentSize", Integer.toString(first.segmentSize()));
            state.put(
                    "queue.capacityBytes",
                    Long.toString(sum(queue.offsets(
                            (partition, each) -> (long) each.stats().capacitySegments()
                                    * each.stats().segmentSize()))));
            for (int partition = 0; partition < queue.count(); partition++) {
                for (ConsumerStats each : queue.queue(partition).consumerStats()) {
                    state.merge(
                            "queue.consumer." + each.name(),
                            "\"" + partition + "\":" + each.committedOffset(),
                            (before, more) -> before + "," + more);
                }
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
