package org.mmapqueue.spark.read.task;

import org.jspecify.annotations.Nullable;
import org.mmapqueue.spark.read.plan.Backlog;

/**
 * What a task of a scan has read. Immutable.
 *
 * @param records records read, including those that a filter on their timestamp has dropped
 * @param bytes payload bytes read
 * @param dropped records that were not retained any more
 * @param damaged records skipped because of damage
 * @param segments segments read
 * @param memoryWaitMillis wait for read permits, in ms
 * @param recordWaitMillis wait for new records, in ms
 * @param lag the lag of the query, if this task reports it; else null
 */
public record ScanFigures(
        long records,
        long bytes,
        long dropped,
        long damaged,
        long segments,
        long memoryWaitMillis,
        long recordWaitMillis,
        @Nullable Backlog lag) {

    /** Nothing read yet. */
    static ScanFigures none(@Nullable Backlog lag) {
        return new ScanFigures(0, 0, 0, 0, 0, 0, 0, lag);
    }

    /** The sums with the figures of another range of the same task. */
    ScanFigures plus(ScanFigures other) {
        return new ScanFigures(
                records + other.records,
                bytes + other.bytes,
                dropped + other.dropped,
                damaged + other.damaged,
                segments + other.segments,
                memoryWaitMillis + other.memoryWaitMillis,
                recordWaitMillis + other.recordWaitMillis,
                lag);
    }
}
