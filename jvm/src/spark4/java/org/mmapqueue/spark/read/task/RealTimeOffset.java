package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/**
 * The position of a task.
 *
 * @param partition the partition's number
 * @param next the next offset to read
 */
public record RealTimeOffset(int partition, long next) implements PartitionOffset {
    private static final long serialVersionUID = 1L;
}
