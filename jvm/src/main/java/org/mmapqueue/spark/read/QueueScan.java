package org.mmapqueue.spark.read;

import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportOrdering;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.connector.read.partitioning.UnknownPartitioning;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.common.RunningSession;
import org.mmapqueue.spark.read.plan.InputPlanner;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.read.plan.RangesText;
import org.mmapqueue.spark.read.plan.ReadRange;
import org.mmapqueue.spark.read.stream.QueueMicroBatchStream;
import org.mmapqueue.spark.read.task.ScanMetrics;
import org.mmapqueue.spark.source.OpenPartitions;

/**
 * A scan of records. It computes its ranges when Spark first asks for them. Each input partition holds records of one
 * partition of the queue, in the order of offsets; the scan reports that to Spark.
 */
final class QueueScan implements SupportsReportStatistics, SupportsReportPartitioning, SupportsReportOrdering {
    /** The approximate size of a row without its value, in bytes. */
    private static final long ROW_BYTES = 24;
    /** Whether Spark merges the input partitions of a key only for queries that need it: from 4.2 on. */
    private static final boolean MERGING = isMerging();

    private final ScanRequest request;
    /** Null for a batch. */
    private volatile QueueMicroBatchStream stream;

    private volatile Plan plan;

    /** The batch; null until Spark asks for it. */
    private record Plan(QueueBatch batch, List<ReadRange> ranges, long rows, long bytes) implements Statistics {

        @Override
        public OptionalLong sizeInBytes() {
            return OptionalLong.of(bytes);
        }

        @Override
        public OptionalLong numRows() {
            return batch.request().selection().isByTime() ? OptionalLong.empty() : OptionalLong.of(rows);
        }
    }

    /** A stream, and a queue that does not exist, have no statistics. */
    private record Unknown() implements Statistics {

        @Override
        public OptionalLong sizeInBytes() {
            return OptionalLong.empty();
        }

        @Override
        public OptionalLong numRows() {
            return OptionalLong.empty();
        }
    }

    /** Makes a scan without opening the queue. */
    QueueScan(ScanRequest request) {
        this.request = request;
    }

    @Override
    public StructType readSchema() {
        return request.columns();
    }

    /** The request; once it is planned, with the offsets that are read. */
    @Override
    public String description() {
        if (stream != null) {
            return stream.describe();
        }
        Plan planned = plan;
        return request.describe(planned == null ? "" : RangesText.of(planned.ranges));
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return ScanMetrics.all(stream != null);
    }

    @Override
    public Batch toBatch() {
        return plan().batch;
    }

    @Override
    public synchronized MicroBatchStream toMicroBatchStream(String checkpointLocation) {
        if (!request.isPlain()) {
            throw new UnsupportedOperationException(
                    "a streaming read supports no pushed-down filters or limits, but was given: " + description());
        }
        request.options().refuseForStream();
        // Spark does not prune columns of a stream, and appends the metadata column where a query reads it.
        stream = QueueMicroBatchStream.of(
                request.location(), request.options(), RecordSchema.withQueueId(request.columns()), checkpointLocation);
        return stream;
    }

    // Spark also asks for the statistics of a stream, and DESCRIBE for those of a table without a queue.
    @Override
    public synchronized Statistics estimateStatistics() {
        return stream != null || !request.location().exists() ? new Unknown() : plan();
    }

    /**
     * The key of the input partitions. Without {@link #MERGING} Spark would read all ranges of a partition in one task,
     * whatever the query, so the key is reported only if each partition is one range.
     */
    @Override
    public Partitioning outputPartitioning() {
        List<QueueInputPartition> inputs = plan().batch.inputs();
        int keys = (int)
                inputs.stream().map(each -> each.location().id()).distinct().count();
        return MERGING || keys == inputs.size()
                ? new KeyGroupedPartitioning(new Expression[] {Expressions.identity(RecordSchema.PARTITION)}, keys)
                : new UnknownPartitioning(inputs.size());
    }

    private static boolean isMerging() {
        try {
            Class.forName(
                    "org.apache.spark.sql.execution.datasources.v2.GroupPartitionsExec",
                    false,
                    Scan.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    // Only of columns that are read: Spark cannot sort by others.
    @Override
    public SortOrder[] outputOrdering() {
        List<String> read = List.of(request.columns().fieldNames());
        return Stream.of(RecordSchema.PARTITION, RecordSchema.OFFSET)
                .filter(read::contains)
                .map(each -> Expressions.sort(Expressions.column(each), SortDirection.ASCENDING))
                .toArray(SortOrder[]::new);
    }

    private synchronized Plan plan() {
        if (plan == null) {
            request.options().refuseForBatch();
            try (OpenPartitions partitions = request.location().open()) {
                List<ReadRange> ranges = request.ranges(partitions);
                InputPlanner planner = new InputPlanner(
                        request.options(), RunningSession.context().defaultParallelism());
                plan = plan(partitions, ranges, planner);
            }
        }
        return plan;
    }

    private Plan plan(OpenPartitions partitions, List<ReadRange> ranges, InputPlanner planner) {
        List<QueueInputPartition> inputs = planner.plan(partitions, ranges, request.isStored());
        long rows = ranges.stream().mapToLong(ReadRange::records).sum();
        long bytes = ROW_BYTES * rows;
        if (request.isStored()) {
            for (ReadRange each : ranges) {
                bytes += partitions.partition(each.partition()).bytes(each.from(), each.to());
            }
        }
        return new Plan(new QueueBatch(request, inputs), ranges, rows, bytes);
    }
}
