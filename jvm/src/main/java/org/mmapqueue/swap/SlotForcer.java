package org.mmapqueue.swap;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.segment.SlotFile;

/**
 * Forces parts of segments, mapped or not, and the entries of their files, while others fill, map and delete them. Any
 * number of threads.
 */
final class SlotForcer {
    /** Bytes. A slot that is given to another segment meanwhile is not waited for longer than this takes to force. */
    private static final int FORCED_AT_ONCE = 8 << 20;

    private final SegmentRing ring;
    private final SlotTable slots;
    private final ReentrantLock lock;
    private final Condition changed;
    /** Ring slots whose files were deleted and have not been made again; guarded by the lock, as the next one. */
    private final SlotSet discarded = new SlotSet();
    /** Ring slots whose files have been forced as a whole by this process: their length is on the disk. */
    private final SlotSet lengthForced = new SlotSet();
    /** Ring slots that this process has given to a segment; likewise. */
    private final SlotSet known = new SlotSet();
    /** Ring slots that are being forced, each as often as that is, without a pin; likewise. */
    private final List<Integer> unheld = new ArrayList<>();
    /** There may be files whose directory entries have not been forced; an earlier process may have left some, too. */
    private volatile boolean newFiles = true;

    /**
     * A forcer that has forced nothing.
     *
     * @param lock guards the slots
     * @param changed is signalled when a part has been forced
     */
    SlotForcer(SegmentRing ring, SlotTable slots, ReentrantLock lock, Condition changed) {
        this.ring = ring;
        this.slots = slots;
        this.lock = lock;
        this.changed = changed;
    }

    /**
     * The slot is given to a segment to come; with the lock.
     *
     * @return whether this process has found its file, and does so for the first time
     */
    boolean taken(int number, boolean isNewFile) {
        boolean isFound = !isNewFile && !known.contains(number) && !lengthForced.contains(number);
        if (isNewFile) {
            newFiles = true;
            lengthForced.remove(number);
        }
        known.add(number);
        discarded.remove(number);
        return isFound;
    }

    /** The slot's file has got its length on the disk; with the lock. */
    void lengthForced(int number) {
        lengthForced.add(number);
    }

    /** Whether the slot's file is being forced, and nothing but this tells; with the lock. */
    boolean isForcingUnheld(int number) {
        return unheld.contains(number);
    }

    /** The slot's file has been deleted; with the lock. */
    void discarded(int number) {
        discarded.add(number);
    }

    /** As {@link Swapper#forceEntries}. */
    void forceEntries() throws IOException {
        newFiles = false;
        boolean done = false;
        try {
            ring.forceEntries();
            done = true;
        } finally {
            if (!done) {
                newFiles = true;
            }
        }
    }

    /** As {@link Swapper#force}. */
    void force(long id, int from, int to) throws IOException {
        if (newFiles) {
            forceEntries();
        }
        int at = from;
        while (at < to) {
            int end = Math.min(to, (at / FORCED_AT_ONCE + 1) * FORCED_AT_ONCE);
            at = forcePart(id, at, end) ? to : end;
        }
    }

    // Returns whether nothing is left to be forced of the segment, whatever comes behind the part.
    private boolean forcePart(long id, int from, int to) throws IOException {
        Slot slot;
        SlotFile.Forcing forcing;
        boolean isWhole;
        int number = ring.geometry().slotOf(id);
        lock.lock();
        try {
            slot = slots.of(id);
            if (slot != null && (slot.filling || slot.preparedId > id || slot.segment != null && slot.segment.id() > id)
                    || discarded.contains(number)) {
                return true; // acked by all, and its slot given to a later one or to nobody
            }
            boolean held = slot != null && slot.file.isMapped();
            // A file system may grow a file on the disk only as far as its pages have got there.
            isWhole = !held || !lengthForced.contains(number);
            forcing = held ? slot.file.forcing(isWhole) : null;
            if (held) {
                slot.pins++;
                slot.forcing++;
                slot.forced = true;
            } else {
                unheld.add(number);
            }
        } finally {
            lock.unlock();
        }
        boolean done = false;
        try {
            if (forcing == null) {
                ring.force(id);
            } else {
                // After the first time the range alone: forcing zeros makes each of their pages fault again.
                forcing.force(from, to);
            }
            done = true;
        } finally {
            lock.lock();
            try {
                if (done) {
                    lengthForced.add(number);
                }
                if (forcing != null) {
                    slot.forcing--;
                    slots.unpin(slot);
                    changed.signalAll();
                } else {
                    unheld.remove((Integer) number);
                }
            } finally {
                lock.unlock();
            }
        }
        return isWhole;
    }
}
