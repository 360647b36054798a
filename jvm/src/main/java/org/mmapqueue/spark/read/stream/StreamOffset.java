package org.mmapqueue.spark.read.stream;

import org.apache.spark.sql.connector.read.streaming.Offset;
import org.mmapqueue.spark.common.PartitionOffsets;

/** Where a query stands in a queue: one offset for each partition, the next one that it reads. Immutable. */
final class StreamOffset extends Offset {
    private final PartitionOffsets offsets;

    StreamOffset(PartitionOffsets offsets) {
        this.offsets = offsets;
    }

    /**
     * What Spark hands back: an offset of this class, or one that it has read from a checkpoint.
     *
     * @throws IllegalArgumentException when its text is not that of offsets
     */
    static PartitionOffsets offsets(Offset any) {
        return any instanceof StreamOffset own ? own.offsets : PartitionOffsets.parse(any.json());
    }

    @Override
    public String json() {
        return offsets.json();
    }
}
