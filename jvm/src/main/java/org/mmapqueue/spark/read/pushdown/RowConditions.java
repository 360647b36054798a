package org.mmapqueue.spark.read.pushdown;

import java.io.Serializable;

/**
 * Conditions that a task checks for each record of its range. Immutable.
 *
 * @param timestamps the matching timestamps; null to match all records, also those without a timestamp
 * @param limit the limit of rows of a task
 */
public record RowConditions(LongSet timestamps, long limit) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Matches all records. */
    public static final RowConditions NONE = new RowConditions(null, Long.MAX_VALUE);
    /** Matches all records with a timestamp. */
    public static final RowConditions TIMED = new RowConditions(LongSet.ALL, Long.MAX_VALUE);

    /** Whether a record with this timestamp matches; in µs since 1970, 0 for none. */
    public boolean accept(long timestamp) {
        return timestamps == null || timestamp != 0 && timestamps.contains(timestamp);
    }
}
