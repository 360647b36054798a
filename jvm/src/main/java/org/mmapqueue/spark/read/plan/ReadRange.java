package org.mmapqueue.spark.read.plan;

/**
 * Records of a partition that are to be read.
 *
 * @param partition its number
 * @param from the first record's offset
 * @param to the offset behind the last one
 */
public record ReadRange(int partition, long from, long to) {

    /** How many records there are. Where a record of a range may be missing, this is the place to say so. */
    public long records() {
        return to - from;
    }
}
