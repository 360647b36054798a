package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.SegmentHeader;

/**
 * What lies where a segment should be.
 *
 * @param id the segment's id
 * @param path its file
 * @param bytes what the file holds; null when there is none
 * @param header the header, when it is whole and this queue's and this segment's; else null
 * @param fault what is wrong with the file's length or the header; null when nothing is
 * @param isEmpty whether the header is all zeros
 */
public record Slot(long id, Path path, SegmentBytes bytes, SegmentHeader header, Mismatch fault, boolean isEmpty) {

    /** The position of the first word from a position on that is not 0; {@code end} if there is none. */
    int firstNonZero(int from, int end) throws IOException {
        int at = bytes == null ? end : from;
        while (at < end && bytes.getLong(at) == 0) {
            at += Long.BYTES;
        }
        return at;
    }
}
