package org.mmapqueue.log;

/**
 * The end of a log.
 *
 * @param position the end of the last record, or of the segment that a recovery has closed
 * @param nextOffset the offset of the next record
 * @param lastTimestamp the highest timestamp, in µs since 1970
 */
public record LogEnd(long position, long nextOffset, long lastTimestamp) {}
