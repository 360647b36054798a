package org.mmapqueue;

/**
 * How far a consumer is, at one moment.
 *
 * @param name its name
 * @param committedOffset the offset of its first record that is not acked
 * @param lagRecords records from there to the end; some of them may be acked, out of order
 * @param lagBytes bytes of the log from there to the end, headers and padding included
 * @param lagMicros how long ago the first record that is not acked was pushed, in µs; 0 when there is none, or when the
 *     queue stores no timestamps
 * @param readOffset the offset of the next record that it pops for the first time; when another process owns it, or
 *     nobody does, that of committedOffset
 * @param unacked records that it has popped and not acked; 0 when another process owns it, or nobody does
 * @param label what it is for, as its owner has said with {@link Consumer#label(String)}; empty when it has not
 */
public record ConsumerStats(
        String name,
        long committedOffset,
        long lagRecords,
        long lagBytes,
        long lagMicros,
        long readOffset,
        long unacked,
        String label) {}
