package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.SegmentHeader;

/**
 * The file of a segment, as it was found.
 *
 * @param bytes the file's content; null if the file is missing
 * @param header the header; null if it is damaged, or of another queue or segment
 * @param fault the fault of the file's length or header; null for none
 * @param isEmpty whether the header is all zeros
 */
public record Slot(long id, Path path, SegmentBytes bytes, SegmentHeader header, Mismatch fault, boolean isEmpty) {

    /** The position of the first word other than 0 from a position on; {@code end} if all are 0. */
    int firstNonZero(int from, int end) throws IOException {
        int at = bytes == null ? end : from;
        while (at < end && bytes.getLong(at) == 0) {
            at += Long.BYTES;
        }
        return at;
    }
}
