package org.mmapqueue.swap;

import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SlotFile;

/**
 * What the swapper knows of one ring slot, or of one segment in a process that only reads; guarded by the swapper's
 * lock.
 */
final class Slot {
    static final long NONE = -1;

    /** What the swapper finds it by: the ring slot's number, or the segment's id. */
    final long key;

    final SlotFile file;
    /** Users of the mapping, in whatever generation: while there are any it stays. */
    int pins;
    /** Those of them that fsync a part of it; none of these takes long. */
    int syncing;
    /** Somebody writes zeros into the file, touches its pages or deletes it; mapping and preparedId are his. */
    boolean filling;
    /** Mapped, but not entered by the writer yet: not counted as live. */
    boolean ahead;
    /** Some of the mapping has been fsynced since it was made. */
    boolean synced;
    /** The mapping may be of a file that is not there any more: it goes with its last pin. */
    boolean distrusted;
    /** The segment for which the file has been filled with zeros, or NONE. */
    long preparedId = NONE;
    /** The segment that the mapping holds now, or null. */
    Segment segment;

    Slot(long key, SlotFile file) {
        this.key = key;
        this.file = file;
    }

    boolean isIdle() {
        return pins == 0 && !filling && !file.isMapped() && preparedId == NONE;
    }
}
