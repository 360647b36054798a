package org.mmapqueue.spark.read.plan;

import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.jspecify.annotations.Nullable;

/**
 * Several small ranges, for one task to read one after the other. Immutable.
 *
 * @param inputs the ranges, in order; those of one partition of the queue by offset
 * @param hosts the preferred hosts, best first; empty for no preference
 * @param lag the lag of the query after the micro-batch, which one task of the micro-batch reports; null for the others
 */
public record PackedInputPartition(
        List<QueueInputPartition> inputs,
        List<String> hosts,
        @Nullable Backlog lag) implements InputPartition {
    private static final long serialVersionUID = 1L;

    /** Ranges without a lag to report. */
    PackedInputPartition(List<QueueInputPartition> inputs, List<String> hosts) {
        this(inputs, hosts, null);
    }

    /**
     * A task that also reports the lag of its query.
     *
     * @param input the task's input
     * @param lag the lag after the micro-batch
     * @return the same ranges, with the lag
     */
    public static PackedInputPartition reporting(InputPartition input, Backlog lag) {
        return input instanceof PackedInputPartition packed
                ? new PackedInputPartition(packed.inputs, packed.hosts, lag)
                : new PackedInputPartition(
                        List.of((QueueInputPartition) input), List.of(input.preferredLocations()), lag);
    }

    @Override
    public String[] preferredLocations() {
        return hosts.toArray(String[]::new);
    }
}
