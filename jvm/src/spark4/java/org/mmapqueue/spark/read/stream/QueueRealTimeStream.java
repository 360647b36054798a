package org.mmapqueue.spark.read.stream;

import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.read.plan.ReadOptions;
import org.mmapqueue.spark.read.task.RealTimeOffset;
import org.mmapqueue.spark.read.task.RealTimeReaderFactory;
import org.mmapqueue.spark.source.Location;

/**
 * A source with real-time mode: tasks run as long as a batch, and return each record when it is pushed. Their last
 * offsets are the end of the batch.
 */
final class QueueRealTimeStream extends QueueMicroBatchStream implements SupportsRealTimeMode {
    private volatile boolean realTime;

    /** As {@link QueueMicroBatchStream}. Called by reflection: older versions of Spark cannot load this class. */
    QueueRealTimeStream(Location location, ReadOptions options, StructType columns, String checkpointLocation) {
        super(location, options, columns, checkpointLocation);
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
        return new StreamOffset(after(ends));
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return realTime
                ? new RealTimeReaderFactory(columns(), failOnDataLoss(), losses())
                : super.createReaderFactory();
    }
}
