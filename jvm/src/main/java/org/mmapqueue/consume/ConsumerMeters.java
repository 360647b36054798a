package org.mmapqueue.consume;

import org.mmapqueue.metrics.Progress;
import org.mmapqueue.metrics.RecordCounter;

/**
 * What the owner of a consumer has counted since it opened the consumer.
 *
 * @param popped records that the reading position has passed
 * @param acked records that the committed position has passed
 * @param redelivered deliveries after the first one of a record, and their payload bytes
 * @param deadLettered records moved to the dead-letter queue, and their payload bytes
 */
public record ConsumerMeters(Progress popped, Progress acked, RecordCounter redelivered, RecordCounter deadLettered) {
    /**
     * Returns counters at 0 for a consumer that was opened at this record; the fetcher owns the counter of
     * redeliveries.
     */
    static ConsumerMeters from(long offset, long position, RecordCounter redelivered) {
        return new ConsumerMeters(
                new Progress(offset, position), new Progress(offset, position), redelivered, new RecordCounter());
    }
}
