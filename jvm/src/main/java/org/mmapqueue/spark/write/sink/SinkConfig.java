package org.mmapqueue.spark.write.sink;

import java.util.Map;

/**
 * What the partitions of a queue are made and opened with.
 *
 * @param partitions how many there are to be; 0 for those that there are, or 1
 * @param keys keys of docs/reference/configuration.md, and capacity in bytes, that were given
 */
record SinkConfig(int partitions, Map<String, String> keys) {
    /** Stands for queue_capacity_segments. */
    static final String CAPACITY = "capacity";

    static final String CAPACITY_SEGMENTS = "queue_capacity_segments";
    static final String SEGMENT_SIZE = "segment_size";
}
