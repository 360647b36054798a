package org.mmapqueue.spark.read.plan;

import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.mmapqueue.spark.common.PartitionDirectory;

/**
 * A range of a partition's records, for one task to read. Immutable.
 *
 * @param directory the partition's directory
 * @param queueId the queue's identity
 * @param host the host on which the range was planned
 * @param from the first offset
 * @param to the offset after the last one
 * @param skipsDamage whether damaged records are skipped; else they are an error
 */
public record QueueInputPartition(
        PartitionDirectory directory, UUID queueId, String host, long from, long to, boolean skipsDamage)
        implements HasPartitionKey {
    private static final long serialVersionUID = 1L;

    @Override
    public String[] preferredLocations() {
        return new String[] {host};
    }

    /** The number of the partition, the same for all ranges of it. */
    @Override
    public InternalRow partitionKey() {
        return new GenericInternalRow(new Object[] {directory.id()});
    }
}
