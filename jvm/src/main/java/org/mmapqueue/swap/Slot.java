package org.mmapqueue.swap;

import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SlotFile;

/** One ring slot, or one segment in a process that only reads. The swapper's lock guards it. */
final class Slot {
    static final long NONE = -1;

    /** The ring slot's number, or the segment's id. */
    final long key;

    final SlotFile file;
    /** Number of users of the mapping, in any generation. */
    int pins;
    /** Number of those users that fsync a part of it. */
    int syncing;
    /** A thread fills, touches or deletes the file; only that thread uses mapping and preallocatedId. */
    boolean filling;
    /** Mapped, but the writer has not rolled into it yet: not counted as live. */
    boolean ahead;
    /** A part of the mapping has been fsynced since it was mapped. */
    boolean synced;
    /** The mapping may be that of a deleted file: the last unpin unmaps it. */
    boolean distrusted;
    /** The segment that the file has been filled for, or NONE. */
    long preallocatedId = NONE;
    /** The segment that the mapping holds now, or null. */
    Segment segment;

    Slot(long key, SlotFile file) {
        this.key = key;
        this.file = file;
    }

    boolean isIdle() {
        return pins == 0 && !filling && !file.isMapped() && preallocatedId == NONE;
    }
}
