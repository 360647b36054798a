package org.mmapqueue.consume;

import org.mmapqueue.metrics.Progress;
import org.mmapqueue.metrics.RecordCounter;

/**
 * What the owner of a consumer counts from the opening of the consumer on.
 *
 * @param popped what the reading cursor passes
 * @param acked what the committed cursor passes
 * @param redelivered deliveries after the first one of a record, and their payload bytes
 * @param deadLettered records moved to the dead-letter queue, and their payload bytes
 */
public record ConsumerMeters(Progress popped, Progress acked, RecordCounter redelivered, RecordCounter deadLettered) {
    /** Counters at 0 of a consumer that was opened at this record; the counter of redeliveries is the fetcher's. */
    static ConsumerMeters from(long offset, long position, RecordCounter redelivered) {
        return new ConsumerMeters(
                new Progress(offset, position), new Progress(offset, position), redelivered, new RecordCounter());
    }
}
