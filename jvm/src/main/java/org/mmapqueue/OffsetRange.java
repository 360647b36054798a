package org.mmapqueue;

/**
 * Records whose offsets follow each other.
 *
 * @param first the offset of the first record
 * @param end the offset after the last record
 */
public record OffsetRange(long first, long end) {}
