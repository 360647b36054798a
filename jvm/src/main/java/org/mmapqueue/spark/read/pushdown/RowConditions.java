package org.mmapqueue.spark.read.pushdown;

import java.io.Serializable;

/**
 * What a task has to look at itself, record by record, besides its range. Immutable.
 *
 * @param timestamps those that count; null when all do, also records that have none
 * @param limit the most rows of a task
 */
public record RowConditions(LongSet timestamps, long limit) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Every record counts. */
    public static final RowConditions NONE = new RowConditions(null, Long.MAX_VALUE);

    /** Whether a record of this time, in µs since 1970, counts; 0 is that of a record which has none. */
    public boolean accept(long timestamp) {
        return timestamps == null || timestamp != 0 && timestamps.contains(timestamp);
    }
}
