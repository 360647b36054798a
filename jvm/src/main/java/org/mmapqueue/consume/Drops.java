package org.mmapqueue.consume;

import org.mmapqueue.meta.ConsumerCursors;

/**
 * Whether the writer has dropped records that the consumer does not know of. A drop that was left to the archive stays in
 * the cursors until the consumer has acked all records before it; the consumer knows of it. Not thread-safe: the
 * consumer's lock guards it.
 */
final class Drops {
    private final ConsumerCursors cursors;
    private long known;

    Drops(ConsumerCursors cursors) {
        this.cursors = cursors;
    }

    /** Whether records were dropped of which the consumer does not know. */
    boolean arePending() {
        long dropped = cursors.dropped();
        return dropped > known && dropped > cursors.committed(); // mostly it is 0
    }

    /** Whether the consumer needs records before the dropped position. */
    boolean areUnacked() {
        return cursors.dropped() > cursors.committed();
    }

    /** Whether a drop was left to the archive that the consumer has not passed yet. */
    boolean areKnown() {
        return known != 0;
    }

    /** Notes that the consumer knows of all drops up to a position; 0 for none. */
    void know(long position) {
        known = position;
    }
}
