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
 * @param peakMappedSegments the maximum number of segments that were mapped at once since the queue was opened
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
        long epoch) {}
