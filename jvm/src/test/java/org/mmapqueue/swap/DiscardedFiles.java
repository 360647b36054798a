package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;

/** A writing swapper that deletes slots' files, and a reading one beside it. */
abstract class DiscardedFiles {
    static final int SIZE = 4096;
    static final int CAPACITY = 8;
    static final int MAX = 6;
    static final UUID QUEUE = new UUID(0, 77);
    static final Geometry RING = new Geometry(Format.V2, SIZE, CAPACITY);

    @TempDir
    Path temp;
    /** As if all that the ring holds were reclaimed. */
    static final long NOTHING_NEEDED = Long.MAX_VALUE / 2;

    final WatchedStorage storage = new WatchedStorage();
    Swapper writer;
    Swapper reader;

    @BeforeEach
    void open() {
        writer = new Swapper(ring(), MAX, true, new Nowhere());
        reader = new Swapper(ring(), MAX, false, new Nowhere());
    }

    /** Another writer, with nothing mapped. */
    void reopen() throws IOException {
        writer.close();
        writer = new Swapper(ring(), MAX, true, new Nowhere());
    }

    SegmentRing ring() {
        return new SegmentRing(storage, temp, RING);
    }

    @AfterEach
    void close() throws IOException {
        writer.close();
        reader.close();
        assertEquals(0, writer.mapped());
        assertEquals(0, reader.mapped());
    }

    Path file(long id) {
        return temp.resolve(id % CAPACITY + "_segment.dat");
    }

    void write(long id) throws IOException {
        EnteredSegment.write(writer, id, SIZE, QUEUE);
    }

    void assertReads(Swapper swapper, long id) throws IOException {
        Segment segment = swapper.pin(id);
        try {
            assertEquals(null, segment.headerFault(QUEUE, RING));
            assertEquals(id + 1, segment.getLong(SIZE - 8));
        } finally {
            swapper.unpin(segment);
        }
    }
}
