package org.mmapqueue;

import java.time.Duration;
import java.util.Optional;

/**
 * The progress of a consumer at one moment.
 *
 * @param name the consumer's name
 * @param committedOffset the offset of the first record that is not acked
 * @param committedPosition the committed position: that of the first record that is not acked
 * @param lagRecords records that are not acked. Unless this process owns the consumer, it is all records from
 *     committedOffset to the log end, including those acked out of order
 * @param archivedRecords those of lagRecords that the ring has given up: the consumer reads them in the archive
 * @param lagBytes bytes from the committed position to the log end, headers and padding included; of a consumer that is
 *     behind the ring, the bytes of the ring
 * @param lagTime the age of the first record that is not acked, or of the oldest record of the ring, if that is newer;
 *     empty without such a record, or without timestamps
 * @param readOffset the offset of the next record that is popped for the first time, also by an owner in another process
 * @param readPosition the position after the last record that was popped for the first time
 * @param unacked records popped, and neither acked nor requeued. Unless this process owns the consumer, it is all
 *     records from committedOffset to readOffset, including those acked out of order, and those that a killed process
 *     had popped
 * @param droppedRecords records that this process, as the writer, has dropped for the consumer since it opened the
 *     queue, by max_consumer_lag or max_age; 0 if another process writes
 * @param damagedRecords records that the consumer has skipped because of damage since this process opened it; 0 unless
 *     this process owns the consumer
 * @param label the text of {@link Consumer#label(String)}; empty for none
 */
public record ConsumerStats(
        String name,
        long committedOffset,
        long committedPosition,
        long lagRecords,
        long archivedRecords,
        long lagBytes,
        Optional<Duration> lagTime,
        long readOffset,
        long readPosition,
        long unacked,
        long droppedRecords,
        long damagedRecords,
        Optional<String> label) {}
