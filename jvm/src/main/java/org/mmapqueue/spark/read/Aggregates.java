package org.mmapqueue.spark.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.plan.ReadRange;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;

/**
 * Pushed-down aggregates: count, minimum and maximum of offset and timestamp, computed from ranges without reading
 * records; one row, or one for each partition. Immutable.
 *
 * @param functions the aggregates, in order
 * @param byPartition whether rows are grouped by partition
 */
record Aggregates(List<Function> functions, boolean byPartition) {

    /** A supported aggregate. */
    enum Function {
        /** The number of rows. */
        COUNT("count(*)", null),
        /** The lowest offset. */
        MIN_OFFSET("min(offset)", RecordSchema.OFFSET),
        /** The highest offset. */
        MAX_OFFSET("max(offset)", RecordSchema.OFFSET),
        /** The earliest timestamp. */
        MIN_TIMESTAMP("min(timestamp)", RecordSchema.TIMESTAMP),
        /** The latest timestamp. */
        MAX_TIMESTAMP("max(timestamp)", RecordSchema.TIMESTAMP);

        private final String text;
        private final String column;

        Function(String text, String column) {
            this.text = text;
            this.column = column;
        }
    }

    /**
     * Converts an aggregation of Spark.
     *
     * @return the aggregates; empty if any of them is not supported
     */
    static Optional<Aggregates> of(Aggregation aggregation) {
        List<Function> functions = new ArrayList<>();
        for (AggregateFunc each : aggregation.aggregateExpressions()) {
            Function function = function(each);
            if (function == null) {
                return Optional.empty();
            }
            functions.add(function);
        }
        Expression[] groups = aggregation.groupByExpressions();
        boolean byPartition = groups.length == 1 && RecordSchema.PARTITION.equals(column(groups[0]));
        return groups.length > 0 && !byPartition
                ? Optional.empty()
                : Optional.of(new Aggregates(functions, byPartition));
    }

    private static Function function(AggregateFunc asked) {
        if (asked instanceof CountStar) {
            return Function.COUNT;
        }
        if (asked instanceof Count count && !count.isDistinct()) {
            // count(column) of a nullable column needs the records.
            String column = column(count.column());
            return column == null || column.equals(RecordSchema.TIMESTAMP) ? null : Function.COUNT;
        }
        if (asked instanceof Min min) {
            return extreme(column(min.column()), Function.MIN_OFFSET, Function.MIN_TIMESTAMP);
        }
        return asked instanceof Max max
                ? extreme(column(max.column()), Function.MAX_OFFSET, Function.MAX_TIMESTAMP)
                : null;
    }

    private static Function extreme(String column, Function offset, Function timestamp) {
        return RecordSchema.OFFSET.equals(column) ? offset : RecordSchema.TIMESTAMP.equals(column) ? timestamp : null;
    }

    private static String column(Expression expression) {
        return expression instanceof NamedReference reference && reference.fieldNames().length == 1
                ? reference.fieldNames()[0]
                : null;
    }

    /** The columns of the rows. */
    StructType schema() {
        StructType schema = new StructType();
        if (byPartition) {
            schema = schema.add(RecordSchema.PARTITION, DataTypes.IntegerType, false);
        }
        for (Function each : functions) {
            schema = schema.add(
                    each.text,
                    RecordSchema.TIMESTAMP.equals(each.column) ? DataTypes.TimestampType : DataTypes.LongType,
                    each != Function.COUNT);
        }
        return schema;
    }

    /**
     * Computes the rows.
     *
     * @param partitions the open queue
     * @param ranges the ranges, in order
     * @param byTime whether records without a timestamp do not match, though the ranges may contain them
     * @return the rows; empty if the records have to be read
     */
    Optional<List<Object[]>> rows(OpenPartitions partitions, List<ReadRange> ranges, boolean byTime) {
        if (byTime && functions.contains(Function.COUNT)) {
            return Optional.empty();
        }
        boolean needTimes = byTime || functions.stream().anyMatch(each -> RecordSchema.TIMESTAMP.equals(each.column));
        List<Object[]> rows = new ArrayList<>();
        if (!byPartition) {
            return add(null, partitions, ranges, needTimes, rows) ? Optional.of(rows) : Optional.empty();
        }
        for (int id : partitions.ids()) {
            List<ReadRange> own =
                    ranges.stream().filter(each -> each.partition() == id).toList();
            if (!own.isEmpty() && !add(id, partitions, own, needTimes, rows)) {
                return Optional.empty();
            }
        }
        return Optional.of(rows);
    }

    private boolean add(
            Integer partition,
            OpenPartitions partitions,
            List<ReadRange> ranges,
            boolean needTimes,
            List<Object[]> rows) {
        long count = 0;
        Long minOffset = null;
        Long maxOffset = null;
        Long minTime = null;
        Long maxTime = null;
        for (ReadRange each : ranges) {
            ReadablePartition read = partitions.partition(each.partition());
            count += each.records();
            minOffset = minOffset == null ? each.from() : Math.min(minOffset, each.from());
            maxOffset = maxOffset == null ? each.to() - 1 : Math.max(maxOffset, each.to() - 1);
            if (needTimes) {
                long first = read.minTimestampMicros(each.from(), each.to());
                long last = read.maxTimestampMicros(each.from(), each.to());
                if (first == 0 || last == 0) {
                    return false; // some records have no timestamp
                }
                minTime = minTime == null ? first : Math.min(minTime, first);
                maxTime = maxTime == null ? last : Math.max(maxTime, last);
            }
        }
        List<Object> row = new ArrayList<>();
        if (byPartition) {
            row.add(partition);
        }
        for (Function each : functions) {
            row.add(
                    switch (each) {
                        case COUNT -> (Object) count;
                        case MIN_OFFSET -> minOffset;
                        case MAX_OFFSET -> maxOffset;
                        case MIN_TIMESTAMP -> minTime;
                        case MAX_TIMESTAMP -> maxTime;
                    });
        }
        rows.add(row.toArray());
        return true;
    }

    @Override
    public String toString() {
        return "PushedAggregates: ["
                + String.join(", ", functions.stream().map(each -> each.text).toList()) + "]"
                + (byPartition ? ", PushedGroupBy: [" + RecordSchema.PARTITION + "]" : "");
    }
}
