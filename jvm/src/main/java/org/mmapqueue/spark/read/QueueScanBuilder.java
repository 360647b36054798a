package org.mmapqueue.spark.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownOffset;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.plan.RangeFinder;
import org.mmapqueue.spark.read.plan.ReadOptions;
import org.mmapqueue.spark.read.plan.ReadRange;
import org.mmapqueue.spark.read.pushdown.Condition;
import org.mmapqueue.spark.read.pushdown.LongSet;
import org.mmapqueue.spark.read.pushdown.Selection;
import org.mmapqueue.spark.read.pushdown.TopRecords;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.source.OpenPartitions;

/** Collects what Spark pushes down, and builds the scan. Not thread-safe. */
public final class QueueScanBuilder
        implements SupportsPushDownRequiredColumns,
                SupportsPushDownV2Filters,
                SupportsPushDownLimit,
                SupportsPushDownTopN,
                SupportsPushDownOffset,
                SupportsPushDownAggregates {
    /** The maximum number of ranges that a filter may select in a partition, since each range is at least one task. */
    private static final int MOST_INTERVALS = 64;

    private final Location location;
    private final ReadOptions options;
    private final List<Predicate> pushed = new ArrayList<>();
    private StructType columns = RecordSchema.READ;
    private Selection selection = Selection.ALL;
    private long limit = ScanRequest.UNLIMITED;
    private long skip;
    private TopRecords top;
    private AggregateRows aggregateRows;
    private boolean aggregated;
    /** Whether a repair has given up records; null until it is needed. */
    private @Nullable Boolean mayHaveLost;

    /**
     * Starts with a scan of all retained records, within the limits of the options.
     *
     * @param location the queue
     * @param options of the table and of the query
     * @param given the options of the query alone
     * @throws IllegalArgumentException if an option is invalid
     */
    public QueueScanBuilder(Location location, Options options, Options given) {
        this.location = location;
        this.options = ReadOptions.of(options, given);
    }

    @Override
    public void pruneColumns(StructType requiredSchema) {
        columns = requiredSchema;
    }

    @Override
    public Predicate[] pushPredicates(Predicate[] predicates) {
        List<Predicate> left = new ArrayList<>();
        for (Predicate each : predicates) {
            Optional<Condition> condition = Condition.of(each);
            if (condition.isPresent()) {
                LongSet values = condition.get().values();
                boolean whole = values.intervals().size() <= MOST_INTERVALS;
                selection = selection.and(new Condition(condition.get().column(), whole ? values : values.hull()));
                pushed.add(each);
                if (whole) {
                    continue;
                }
            }
            left.add(each);
        }
        return left.toArray(Predicate[]::new);
    }

    @Override
    public Predicate[] pushedPredicates() {
        return pushed.toArray(Predicate[]::new);
    }

    @Override
    public boolean pushLimit(int rows) {
        if (aggregated || mayLackRecords()) {
            return false;
        }
        limit = rows;
        return true;
    }

    @Override
    public boolean pushTopN(SortOrder[] orders, int rows) {
        top = aggregated || mayLackRecords()
                ? null
                : TopRecords.of(orders, rows, selection.isByTime()).orElse(null);
        return top != null;
    }

    /** Whether Spark has to apply the limit as well; for pushed-down orders, to sort first. */
    @Override
    public boolean isPartiallyPushed() {
        return top != null || selection.isByTime();
    }

    @Override
    public boolean pushOffset(int rows) {
        if (aggregated || mayLackRecords() || selection.isByTime()) {
            return false;
        }
        skip = rows;
        return true;
    }

    @Override
    public boolean supportCompletePushDown(Aggregation aggregation) {
        return !mayLackRecords()
                && Aggregates.of(aggregation).filter(this::isKnown).isPresent();
    }

    @Override
    public boolean pushAggregation(Aggregation aggregation) {
        aggregated = supportCompletePushDown(aggregation);
        return aggregated;
    }

    // Whether an offset may have no record, so that nothing can be computed from offsets: where damage is skipped, and
    // where a repair has given up records.
    private boolean mayLackRecords() {
        if (options.skipsDamage() || mayHaveLost != null) {
            return options.skipsDamage() || mayHaveLost;
        }
        mayHaveLost = false;
        if (location.exists()) {
            try (OpenPartitions partitions = location.open()) {
                mayHaveLost = partitions.all().stream()
                        .anyMatch(each -> each.mayHaveLost(each.firstKnownOffset(), Long.MAX_VALUE));
            }
        }
        return mayHaveLost;
    }

    // Whether these aggregates were computed before. Spark asks twice for the same aggregation, and both answers must
    // come from one state of the queue.
    private boolean isKnown(Aggregates aggregates) {
        if (aggregateRows == null || !aggregateRows.aggregates().equals(aggregates)) {
            aggregateRows = null;
            options.refuseForBatch();
            try (OpenPartitions partitions = location.open()) {
                List<ReadRange> ranges = new RangeFinder(partitions, options, selection, true).find();
                aggregates
                        .rows(partitions, ranges, selection.isByTime())
                        .ifPresent(rows -> aggregateRows = new AggregateRows(aggregates, rows));
            }
        }
        return aggregateRows != null;
    }

    @Override
    public Scan build() {
        ScanRequest request = new ScanRequest(location, options, columns, selection, limit, skip, top);
        return aggregated ? new AggregateScan(request, aggregateRows) : new QueueScan(request);
    }
}
