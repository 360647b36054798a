package org.mmapqueue.spark.read.plan;

/**
 * A range of offsets to read in a partition.
 *
 * @param partition the partition's number
 * @param from the first offset
 * @param to the offset after the last one
 */
public record ReadRange(int partition, long from, long to) {

    /** The number of offsets in the range. */
    public long records() {
        return to - from;
    }
}
