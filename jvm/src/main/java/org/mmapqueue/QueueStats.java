package org.mmapqueue;

/**
 * The state of a queue at one moment. Positions are absolute: segment id × segment size + offset in the segment.
 *
 * @param firstOffset the offset of the oldest record that is retained
 * @param endOffset the offset that the next record gets
 * @param writingPosition the end of the last record
 * @param watermarkPosition everything before it has been fsynced to the disk
 * @param lowWatermark everything before it is acked by every consumer; without a consumer, everything from
 *     it on is kept
 * @param slowestConsumer the name of the consumer that stands there and so holds the ring; empty when there is no
 *     consumer
 * @param segmentsInUse ring segments that hold something that is not acked by every consumer
 * @param capacitySegments segments in the ring
 * @param segmentSize bytes of a segment
 * @param mappedSegments segments mapped now that hold, or have held, records
 * @param mappedBytes bytes of all mappings, those ahead of the writer and the meta page included
 * @param peakMappedSegments the most segments that were mapped at once since the queue was opened
 * @param epoch 1, and one more for each recovery after an unclean end
 */
public record QueueStats(
        long firstOffset,
        long endOffset,
        long writingPosition,
        long watermarkPosition,
        long lowWatermark,
        String slowestConsumer,
        int segmentsInUse,
        int capacitySegments,
        int segmentSize,
        int mappedSegments,
        long mappedBytes,
        int peakMappedSegments,
        long epoch) {

    /**
     * What holds the ring, as the message of Full says it.
     *
     * @return the slowest consumer and how many bytes it is behind, or that there is none
     */
    public String heldBy() {
        return heldBy(slowestConsumer, writingPosition - lowWatermark);
    }

    /**
     * The same for a consumer and its distance.
     *
     * @param consumer its name; empty when there is none
     * @param bytesBehind bytes from its committed position to the log end
     * @return a phrase for a message
     */
    public static String heldBy(String consumer, long bytesBehind) {
        return consumer.isEmpty()
                ? "it has no consumer, so nobody has read them"
                : "the slowest consumer is " + consumer + ", " + Math.max(0, bytesBehind) + " bytes behind";
    }
}
