package org.mmapqueue.spark.read.stream;

import java.nio.file.Path;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.read.plan.ReadOptions;
import org.mmapqueue.spark.read.task.RealTimeOffset;
import org.mmapqueue.spark.read.task.RealTimeReaderFactory;

/**
 * A source that can also be read in real-time mode: tasks run for as long as a batch lasts and hand each record on
 * when it is pushed; where they have come to is the batch's end.
 */
final class QueueRealTimeStream extends QueueMicroBatchStream implements SupportsRealTimeMode {
    private volatile boolean realTime;

    /** As {@link QueueMicroBatchStream}. Called by its name: older versions of Spark can not load this class. */
    QueueRealTimeStream(Path path, ReadOptions options, StructType columns, String checkpointLocation) {
        super(path, options, columns, checkpointLocation);
    }

    @Override
    public void prepareForRealTimeMode() {
        refuseForRealTime();
        realTime = true;
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start) {
        return planFrom(start);
    }

    @Override
    public Offset mergeOffsets(PartitionOffset[] offsets) {
        SortedMap<Integer, Long> ends = new TreeMap<>();
        for (PartitionOffset each : offsets) {
            RealTimeOffset end = (RealTimeOffset) each;
            ends.put(end.partition(), end.next());
        }
        return new StreamOffset(new PartitionOffsets(ends));
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return realTime ? new RealTimeReaderFactory(columns(), failOnDataLoss()) : super.createReaderFactory();
    }
}
