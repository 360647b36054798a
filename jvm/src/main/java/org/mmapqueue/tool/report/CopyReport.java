package org.mmapqueue.tool.report;

import java.nio.file.Path;

/**
 * The report of a copy or a resize. Immutable.
 *
 * @param path the directory of the queue with the new ring
 * @param records the number of records in it
 * @param firstOffset the offset of the oldest record
 * @param endOffset the offset of the next record
 * @param segmentSize bytes of a segment file
 * @param capacity the maximum number of segment files
 * @param leftOut the number of acked records for which the new ring had no room
 */
public record CopyReport(
        String path, long records, long firstOffset, long endOffset, int segmentSize, int capacity, long leftOut) {

    /**
     * Returns the same report for a directory that the copy was moved to.
     *
     * @param directory the directory
     * @return the report
     */
    public CopyReport at(Path directory) {
        return new CopyReport(directory.toString(), records, firstOffset, endOffset, segmentSize, capacity, leftOut);
    }
}
