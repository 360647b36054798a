package org.mmapqueue.spark.read.plan;

import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.mmapqueue.spark.source.PartitionLocation;

/**
 * A range of a partition's records, for one task to read. Immutable.
 *
 * @param location the location of the range
 * @param queueId the queue's identity
 * @param hosts the preferred hosts for reading the range; empty for no preference
 * @param from the first offset
 * @param to the offset after the last one
 * @param skipsDamage whether damaged records are skipped; else they are an error
 * @param mayHaveLost whether some offsets may have no record
 */
public record QueueInputPartition(
        PartitionLocation location,
        UUID queueId,
        List<String> hosts,
        long from,
        long to,
        boolean skipsDamage,
        boolean mayHaveLost)
        implements HasPartitionKey {
    private static final long serialVersionUID = 1L;

    @Override
    public String[] preferredLocations() {
        return hosts.toArray(String[]::new);
    }

    /** The number of the partition: the key that all ranges of the partition share. */
    @Override
    public InternalRow partitionKey() {
        return new GenericInternalRow(new Object[] {location.id()});
    }
}
