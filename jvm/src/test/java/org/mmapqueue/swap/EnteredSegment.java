package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.UUID;
import org.mmapqueue.segment.Segment;

/** The steps of a writer with a segment, as far as tests of swappers need them. */
final class EnteredSegment {
    private EnteredSegment() {}

    /** The writer rolls into a segment, finds zeros, begins it, stores id + 1 at its end, and unpins it. */
    static void write(Swapper writer, long id, int size, UUID queue) throws IOException {
        Segment segment = writer.enter(id);
        for (int at = 0; at < size; at += 8) {
            assertEquals(0, segment.getLong(at), "segment " + id + " at " + at);
        }
        segment.writeHeader(queue, writer.ring().geometry().capacity(), 1, id, 0, 0);
        segment.putLong(size - 8, id + 1);
        writer.unpin(segment);
    }
}
