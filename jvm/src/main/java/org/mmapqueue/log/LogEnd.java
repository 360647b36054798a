package org.mmapqueue.log;

/**
 * Where a log ends.
 *
 * @param position the end of the last record, or of the segment that a recovery has closed
 * @param nextOffset the offset of the next record
 * @param lastTimestamp no record before is younger, in µs since 1970
 */
public record LogEnd(long position, long nextOffset, long lastTimestamp) {}
