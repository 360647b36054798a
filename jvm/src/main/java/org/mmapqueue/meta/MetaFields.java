package org.mmapqueue.meta;

import java.util.UUID;

/**
 * The fixed facts of a queue, stored in its meta page beside the cursors. Version 1 stores only the first two.
 *
 * @param version 1 or 2
 * @param capacity segments in the ring
 * @param segmentSize bytes of each segment file
 * @param uuidHigh the queue's UUID, upper half; 0 in version 1
 * @param uuidLow the queue's UUID, lower half; 0 in version 1
 * @param timestamps whether records carry timestamps
 * @param maxEventSize the largest payload that was ever allowed, in bytes
 * @param createdAtMicros when the queue was made, µs since 1970; 0 in version 1
 * @param epoch incremented at every open after an unclean shutdown; 0 in version 1
 */
public record MetaFields(
        int version,
        int capacity,
        int segmentSize,
        long uuidHigh,
        long uuidLow,
        boolean timestamps,
        int maxEventSize,
        long createdAtMicros,
        long epoch) {

    public MetaFields withEpoch(long next) {
        return new MetaFields(
                version, capacity, segmentSize, uuidHigh, uuidLow, timestamps, maxEventSize, createdAtMicros, next);
    }

    /** The queue's UUID; 0 in version 1. */
    public UUID uuid() {
        return new UUID(uuidHigh, uuidLow);
    }

    /** Returns the same facts with another ring. */
    public MetaFields withRing(int segments, int size) {
        return new MetaFields(
                version, segments, size, uuidHigh, uuidLow, timestamps, maxEventSize, createdAtMicros, epoch);
    }

    /** Returns the same facts with other settings for later records. */
    public MetaFields withSettings(boolean stamps, int maxEvent) {
        return new MetaFields(
                version, capacity, segmentSize, uuidHigh, uuidLow, stamps, maxEvent, createdAtMicros, epoch);
    }
}
