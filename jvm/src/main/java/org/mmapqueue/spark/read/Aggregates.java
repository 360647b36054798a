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
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.common.OpenPartitions;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.plan.ReadRange;

/**
 * Counts, and the least and the greatest of what is ordered along the log, from ranges instead of records: one row, or
 * one for each partition. Immutable.
 *
 * @param functions what is asked for, in order
 * @param byPartition whether for each partition
 */
record Aggregates(List<Function> functions, boolean byPartition) {

    /** An aggregate. */
    enum Function {
        /** Rows. */
        COUNT("count(*)", null),
        /** The least offset. */
        MIN_OFFSET("min(offset)", RecordSchema.OFFSET),
        /** The greatest offset. */
        MAX_OFFSET("max(offset)", RecordSchema.OFFSET),
        /** The least time. */
        MIN_TIMESTAMP("min(timestamp)", RecordSchema.TIMESTAMP),
        /** The greatest time. */
        MAX_TIMESTAMP("max(timestamp)", RecordSchema.TIMESTAMP);

        private final String text;
        private final String column;

        Function(String text, String column) {
            this.text = text;
            this.column = column;
        }
    }

    /**
     * Reads what Spark asks for.
     *
     * @return empty when it is something else, too
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
            // Of a column that may be null the rows do not tell.
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
     * The rows.
     *
     * @param partitions the open queue
     * @param ranges what counts, in order
     * @param byTime whether the ranges may hold records that do not count, as they have no time
     * @return empty when the records themselves have to be looked at
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
        for (int id = 0; id < partitions.count(); id++) {
            int partition = id;
            List<ReadRange> own = ranges.stream()
                    .filter(each -> each.partition() == partition)
                    .toList();
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
            count += each.records();
            minOffset = minOffset == null ? each.from() : Math.min(minOffset, each.from());
            maxOffset = maxOffset == null ? each.to() - 1 : Math.max(maxOffset, each.to() - 1);
            if (needTimes) {
                MmapQueue queue = partitions.queue(each.partition());
                long first = queue.get(each.from()).timestampMicros();
                long last = queue.get(each.to() - 1).timestampMicros();
                if (first == 0 || last == 0) {
                    return false; // at least some have no time
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
