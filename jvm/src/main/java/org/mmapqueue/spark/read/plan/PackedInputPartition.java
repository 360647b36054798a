package org.mmapqueue.spark.read.plan;

import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * Several small ranges, for one task to read one after the other. Immutable.
 *
 * @param inputs the ranges, in order; those of one partition of the queue by offset
 * @param hosts the preferred hosts, best first; empty for no preference
 */
public record PackedInputPartition(List<QueueInputPartition> inputs, List<String> hosts) implements InputPartition {
    private static final long serialVersionUID = 1L;

    @Override
    public String[] preferredLocations() {
        return hosts.toArray(String[]::new);
    }
}
