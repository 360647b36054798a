package org.mmapqueue.spark.read.pushdown;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * The records of each partition that ORDER BY … LIMIT can return: the first or the last ones. Spark sorts the records
 * that are read, and applies the limit over all partitions. Immutable.
 *
 * @param byTime whether the order is by timestamps. It equals the order of offsets only among records with a timestamp,
 *     so it requires that all records read have one
 * @param last whether the last records are needed, not the first ones
 * @param limit the number of records needed of each partition
 * @param keys the sort keys that decide, for the plan
 */
public record TopRecords(boolean byTime, boolean last, int limit, List<String> keys) {

    /**
     * Converts an order and a limit of Spark.
     *
     * @param orders the sort keys, the most significant first
     * @param limit the limit of rows
     * @param neverNull whether records without a timestamp are filtered out
     * @return the records needed; empty if they are not the first or the last ones of a partition
     */
    public static Optional<TopRecords> of(SortOrder[] orders, int limit, boolean neverNull) {
        Boolean newest = null;
        List<String> keys = new ArrayList<>();
        for (SortOrder each : orders) {
            boolean last = each.direction() == SortDirection.DESCENDING;
            keys.add(column(each) + (last ? " DESC" : " ASC"));
            switch (column(each)) {
                case RecordSchema.PARTITION -> {} // the same in all records of a partition
                case RecordSchema.OFFSET -> {
                    // Offsets are unique in a partition, so further keys have no effect.
                    return newest == null || newest == last
                            ? Optional.of(new TopRecords(newest != null, last, limit, List.copyOf(keys)))
                            : Optional.empty();
                }
                case RecordSchema.TIMESTAMP -> {
                    if (!neverNull && each.nullOrdering() == NullOrdering.NULLS_FIRST) {
                        return Optional.empty(); // any record may have no timestamp
                    }
                    newest = newest == null ? last : newest;
                }
                default -> {
                    return Optional.empty();
                }
            }
        }
        return Optional.of(new TopRecords(newest != null, Boolean.TRUE.equals(newest), limit, List.copyOf(keys)));
    }

    private static String column(SortOrder order) {
        return order.expression() instanceof NamedReference reference && reference.fieldNames().length == 1
                ? reference.fieldNames()[0]
                : "";
    }

    @Override
    public String toString() {
        return "PushedTopN: [" + String.join(", ", keys) + " LIMIT " + limit + "]";
    }
}
