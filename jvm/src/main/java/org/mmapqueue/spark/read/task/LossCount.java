package org.mmapqueue.spark.read.task;

import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.util.LongAccumulator;

/**
 * Counts the records that the tasks of a query could not read, on the driver. Spark sends the counts of each successful
 * task with its result. Thread-safe on the driver.
 */
public final class LossCount implements Serializable {
    private static final long serialVersionUID = 1L;

    private final LongAccumulator dropped;
    private final LongAccumulator damaged;

    /**
     * Starts at 0.
     *
     * @param context the session's context
     */
    public LossCount(SparkContext context) {
        dropped = context.longAccumulator();
        damaged = context.longAccumulator();
    }

    /** Adds the counts of a range that a task has read. */
    void add(long droppedRecords, long damagedRecords) {
        dropped.add(droppedRecords);
        damaged.add(damagedRecords);
    }

    /**
     * Records that were not retained any more.
     *
     * @return the count of all tasks so far
     */
    public long dropped() {
        return dropped.sum();
    }

    /**
     * Records skipped because of damage.
     *
     * @return the count of all tasks so far
     */
    public long damaged() {
        return damaged.sum();
    }
}
