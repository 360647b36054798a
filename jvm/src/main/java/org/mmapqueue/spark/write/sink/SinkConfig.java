package org.mmapqueue.spark.write.sink;

import java.util.Map;

/**
 * The configuration of a queue's partitions.
 *
 * @param partitions the requested number of partitions; 0 for the existing ones, or 1
 * @param keys keys of docs/reference/configuration.md, as given
 */
record SinkConfig(int partitions, Map<String, String> keys) {
    static final String CAPACITY = "capacity";
    static final String CAPACITY_SEGMENTS = "queue_capacity_segments";
    static final String SEGMENT_SIZE = "segment_size";
}
