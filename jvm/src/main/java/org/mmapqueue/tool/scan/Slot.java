package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.SegmentHeader;

/**
 * The file of a segment, as it was found.
 *
 * @param bytes the file's content; null if the file is missing
 * @param header the header; null if it is damaged, or of another queue or segment
 * @param rest what the bytes of the header say in any case; null if the file is missing
 * @param fault the fault of the file's length or header; null for none
 */
public record Slot(long id, Path path, SegmentBytes bytes, SegmentHeader header, SegmentHeader rest, Mismatch fault) {
    private static final SegmentHeader EMPTY = new SegmentHeader(new UUID(0, 0), 0, 0, 0, 0, 0, 0, 0);

    /** Whether the header is all zeros. */
    boolean isEmpty() {
        return rest == null || rest.equals(EMPTY);
    }

    /** The position of the first word other than 0 from a position on; {@code end} if all are 0. */
    public int firstNonZero(int from, int end) throws IOException {
        int at = bytes == null ? end : from;
        while (at < end && bytes.getLong(at) == 0) {
            at += Long.BYTES;
        }
        return at;
    }
}
