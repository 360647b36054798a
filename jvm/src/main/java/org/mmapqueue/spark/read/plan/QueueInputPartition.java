package org.mmapqueue.spark.read.plan;

import java.util.UUID;
import org.apache.spark.sql.connector.read.InputPartition;
import org.mmapqueue.spark.common.PartitionDirectory;

/**
 * A range of a partition's records, for one task to read. Immutable.
 *
 * @param directory where the partition lies
 * @param queueId what tells it from all others
 * @param host where it was found to lie there
 * @param from the first record's offset
 * @param to the offset behind the last one
 */
public record QueueInputPartition(PartitionDirectory directory, UUID queueId, String host, long from, long to)
        implements InputPartition {
    private static final long serialVersionUID = 1L;

    @Override
    public String[] preferredLocations() {
        return new String[] {host};
    }
}
