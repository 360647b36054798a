package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Puts small ranges together, so that they share a task. Each range counts for its bytes and for the cost of opening it,
 * as in Spark's file sources.
 *
 * @param most the maximum number of bytes of a task; a larger range has a task of its own
 * @param least the minimum number of tasks, if there are as many ranges
 */
record TaskPacking(long most, int least) {
    /** Opening a range takes as long as reading this many bytes. */
    static final long OPEN_BYTES = InputPlanner.LEAST_BYTES;

    /**
     * Packs ranges. Their order is kept, within a task and over tasks.
     *
     * @param ranges the ranges
     * @param bytes the size of a range
     * @return the ranges of each task
     */
    <T> List<List<T>> pack(List<T> ranges, ToLongFunction<T> bytes) {
        long total = 0;
        for (T each : ranges) {
            total += bytes.applyAsLong(each) + OPEN_BYTES;
        }
        long limit = Math.min(most, Math.max(OPEN_BYTES, (total + least - 1) / least));
        int joins = ranges.size() - least;
        List<List<T>> tasks = new ArrayList<>();
        long size = 0;
        for (T each : ranges) {
            long own = bytes.applyAsLong(each) + OPEN_BYTES;
            if (!tasks.isEmpty() && joins > 0 && size + own <= limit) {
                joins--;
                size += own;
            } else {
                tasks.add(new ArrayList<>());
                size = own;
            }
            tasks.get(tasks.size() - 1).add(each);
        }
        return tasks;
    }
}
