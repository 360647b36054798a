package org.mmapqueue;

import java.util.Optional;

/**
 * The state of a queue at one moment. Positions are absolute: segment id × segment size + offset in the segment.
 *
 * @param firstOffset the offset of the oldest record that is retained; the first later known one where damage hides it
 * @param endOffset the offset of the next record
 * @param writingPosition the end of the last record
 * @param watermarkPosition the recovery point: everything before it is durable
 * @param lowWatermark every consumer has acked everything before it; without a consumer, everything from it on is
 *     retained
 * @param slowestConsumer the consumer at the low watermark; empty without a consumer
 * @param segmentsInUse ring segments with records that some consumer has not acked
 * @param capacitySegments segments in the ring
 * @param segmentSize bytes of a segment
 * @param mappedSegments mapped segments that hold or have held records
 * @param mappedBytes bytes of all mappings, preallocated segments and the meta page included
 * @param peakMappedSegments the most segments that were mapped at once since the queue was opened
 * @param epoch 1 plus the number of recoveries after an unclean shutdown
 */
public record QueueStats(
        long firstOffset,
        long endOffset,
        long writingPosition,
        long watermarkPosition,
        long lowWatermark,
        Optional<String> slowestConsumer,
        int segmentsInUse,
        int capacitySegments,
        int segmentSize,
        int mappedSegments,
        long mappedBytes,
        int peakMappedSegments,
        long epoch) {

    /** {@return what retains the ring: the slowest consumer and its lag in bytes, or that the queue has no consumer} */
    public String heldBy() {
        return heldBy(slowestConsumer, writingPosition - lowWatermark);
    }

    /**
     * Describes what retains the ring, for messages.
     *
     * @param consumer the slowest consumer; empty without a consumer
     * @param lagBytes bytes from its committed position to the log end
     * @return a phrase for a message
     */
    public static String heldBy(Optional<String> consumer, long lagBytes) {
        return consumer.map(name -> "the slowest consumer is " + name + ", " + Math.max(0, lagBytes) + " bytes behind")
                .orElse("it has no consumer, so nobody has read them");
    }
}
