package org.mmapqueue.spark.read.stream;

import org.apache.spark.sql.connector.read.streaming.Offset;
import org.mmapqueue.spark.common.PartitionOffsets;

/** A query's position: the next offset to read of each partition. Immutable. */
final class StreamOffset extends Offset {
    private final PartitionOffsets offsets;

    StreamOffset(PartitionOffsets offsets) {
        this.offsets = offsets;
    }

    /**
     * Converts Spark's offset: one of this class, or one that Spark has read from a checkpoint.
     *
     * @throws IllegalArgumentException if its text is not offsets by partition
     */
    static PartitionOffsets offsets(Offset any) {
        return any instanceof StreamOffset own ? own.offsets : PartitionOffsets.parse(any.json());
    }

    @Override
    public String json() {
        return offsets.json();
    }
}
