package org.mmapqueue.write;

import java.io.IOException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * Gives ring files that hold nothing back to the disk. What is before the head is reclaimed first, as if the writer
 * needed it: from then on no process looks for it. A crash in between leaves files that are deleted the next time, or
 * used; a reader of another process that still has one mapped keeps it until it lets go.
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
        long[] freed = {0};
        flusher.exclusively(() -> {
            for (int slot : ring.slots()) {
                freed[0] += swapper.discard(slot, Math.max(0, first));
            }
            if (freed[0] > 0) {
                syncEntries();
            }
        });
        return freed[0];
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
