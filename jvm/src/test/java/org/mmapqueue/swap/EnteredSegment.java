package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.mmapqueue.segment.Segment;

/** What a writer does with a segment, as far as tests of swappers need it. */
final class EnteredSegment {
    private EnteredSegment() {}

    /** The writer goes into a segment, finds zeros, begins it, marks its end with the id + 1, and lets go of it. */
    static void write(Swapper writer, long id, int size, long uuidLow) throws IOException {
        Segment segment = writer.enter(id);
        for (int at = 0; at < size; at += 8) {
            assertEquals(0, segment.getLong(at), "segment " + id + " at " + at);
        }
        segment.writeHeader(uuidLow, 1, id, 0, 0);
        segment.putLong(size - 8, id + 1);
        writer.unpin(segment);
    }
}
