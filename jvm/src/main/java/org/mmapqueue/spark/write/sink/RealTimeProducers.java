package org.mmapqueue.spark.write.sink;

import java.util.HashMap;
import java.util.Map;

/**
 * The last rows of each producer of real-time mode in this process. Finds rows that do not come in the order of their
 * source: the queue would take them for rows that it has stored. Thread-safe.
 */
final class RealTimeProducers {
    private record Last(RealTimeTask.Id task, long sequence) {}

    private final Map<String, Last> lasts = new HashMap<>();

    /**
     * Begins the rows of a producer in a task.
     *
     * @param producer the producer's name
     * @param task the task
     * @return the sequence that the rows must exceed, which is that of the batch before; -1 for none, also in a batch
     *     that is repeated
     * @throws IllegalStateException if another task of the same run of the batch has rows of the producer
     */
    synchronized long begin(String producer, RealTimeTask.Id task) {
        Last before = lasts.get(producer);
        if (before != null && before.task().isBeside(task)) {
            throw new IllegalStateException("batch " + task.epoch() + " has rows of producer " + producer + " in task "
                    + before.task().partition() + " and in task " + task.partition() + ", so they have no order. Rows"
                    + " of several queues need the column source, for example _queue_id; rows after a shuffle CAST("
                    + "spark_partition_id() AS STRING) as source");
        }
        long least = before != null && before.task().epoch() < task.epoch() ? before.sequence() : -1;
        lasts.put(producer, new Last(task, least));
        return least;
    }

    /**
     * Ends the rows of a producer in a task that has pushed all of them.
     *
     * @param producer the producer's name
     * @param task the task
     * @param sequence of the last row
     */
    synchronized void end(String producer, RealTimeTask.Id task, long sequence) {
        lasts.put(producer, new Last(task, sequence));
    }
}
