package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/**
 * Where a task stands.
 *
 * @param partition the partition's number
 * @param next the offset of the record that is read next
 */
public record RealTimeOffset(int partition, long next) implements PartitionOffset {
    private static final long serialVersionUID = 1L;
}
