package org.mmapqueue.write;

import java.io.IOException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * Deletes ring files without retained records. Segments before the log start are reclaimed first, so no process reads
 * them any more. Files that a crash leaves are deleted by the next gc, or reused. A reader in another process keeps the
 * disk space of a mapped file until it unmaps the file.
 */
record Gc(SegmentRing ring, MetaPage meta, Swapper swapper, RingSpace space, Flusher flusher) {

    /** Deletes the files before the head; returns the bytes of disk space that were released. */
    long run(long head) throws IOException {
        Geometry geometry = ring.geometry();
        if (!space.reclaim(geometry.segmentOf(head) - 1)) {
            // Segments before the head can go, except one that ends at the head: the next record's offset may need
            // it.
            space.reclaim(geometry.segmentOfEnd(head) - 1);
        }
        // The segment of the log end stays: it gives the offset of the next record.
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
