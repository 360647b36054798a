package org.mmapqueue.write;

import java.io.IOException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * Deletes ring files without retained records. Segments before the log start are reclaimed first, as if the writer
 * needed them, so no process reads them any more. Files that a crash leaves are deleted the next time, or used again. A
 * reader of another process keeps a mapped file until it unmaps it.
 */
final class Gc {
    private final Geometry geometry;
    private final SegmentRing ring;
    private final MetaPage meta;
    private final Swapper swapper;
    private final RingSpace space;
    private final Flusher flusher;

    Gc(SegmentRing ring, MetaPage meta, Swapper swapper, RingSpace space, Flusher flusher) {
        this.geometry = ring.geometry();
        this.ring = ring;
        this.meta = meta;
        this.swapper = swapper;
        this.space = space;
        this.flusher = flusher;
    }

    /** Deletes what is before the head; returns the bytes that the disk has got back. */
    long run(long head) throws IOException {
        if (!space.reclaim(geometry.segmentOf(head) - 1)) {
            // A segment that ends at the head may be needed for the next record's number; those before it are not.
            space.reclaim(geometry.segmentOfEnd(head) - 1);
        }
        // The segment of the end stays: the number of the next record is found there.
        long first = Math.min(space.firstKept(), geometry.segmentOfEnd(meta.writing()));
        long[] deleted = {0};
        flusher.exclusively(() -> {
            for (int slot : ring.slots()) {
                deleted[0] += swapper.discard(slot, Math.max(0, first));
            }
            if (deleted[0] > 0) {
                syncEntries();
            }
        });
        return deleted[0];
    }

    private void syncEntries() throws IOException {
        try {
            swapper.syncEntries();
        } catch (IOException e) {
            flusher.poison(e);
            throw e;
        }
    }
}
