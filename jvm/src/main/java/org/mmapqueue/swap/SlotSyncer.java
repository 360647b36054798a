package org.mmapqueue.swap;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.segment.SlotFile;

/**
 * Fsyncs parts of segments, mapped or not, and the entries of their files, while others fill, map and delete them. Any
 * number of threads.
 */
final class SlotSyncer {
    /** Bytes. A slot that is given to another segment meanwhile is not waited for longer than this takes to fsync. */
    private static final int FORCED_AT_ONCE = 8 << 20;

    private final SegmentRing ring;
    private final SlotTable slots;
    private final ReentrantLock lock;
    private final Condition changed;
    /** Ring slots whose files were deleted and have not been made again; guarded by the lock, as the next one. */
    private final SlotSet discarded = new SlotSet();
    /** Ring slots whose files have been fsynced as a whole by this process: their length is on the disk. */
    private final SlotSet lengthSynced = new SlotSet();
    /** Ring slots that this process has given to a segment; likewise. */
    private final SlotSet known = new SlotSet();
    /** Ring slots that are being fsynced, each as often as that is, without a pin; likewise. */
    private final List<Integer> unheld = new ArrayList<>();
    /** There may be files whose directory entries have not been fsynced; an earlier process may have left some, too. */
    private volatile boolean newFiles = true;

    /**
     * A syncer that has fsynced nothing.
     *
     * @param lock guards the slots
     * @param changed is signalled when a part has been fsynced
     */
    SlotSyncer(SegmentRing ring, SlotTable slots, ReentrantLock lock, Condition changed) {
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
        boolean isFound = !isNewFile && !known.contains(number) && !lengthSynced.contains(number);
        if (isNewFile) {
            newFiles = true;
            lengthSynced.remove(number);
        }
        known.add(number);
        discarded.remove(number);
        return isFound;
    }

    /** The slot's file has got its length on the disk; with the lock. */
    void lengthSynced(int number) {
        lengthSynced.add(number);
    }

    /** Whether the slot's file is being fsynced, and nothing but this tells; with the lock. */
    boolean isSyncingUnheld(int number) {
        return unheld.contains(number);
    }

    /** The slot's file has been deleted; with the lock. */
    void discarded(int number) {
        discarded.add(number);
    }

    /** As {@link Swapper#syncEntries}. */
    void syncEntries() throws IOException {
        newFiles = false;
        boolean done = false;
        try {
            ring.syncEntries();
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
            syncEntries();
        }
        int at = from;
        while (at < to) {
            int end = Math.min(to, (at / FORCED_AT_ONCE + 1) * FORCED_AT_ONCE);
            at = syncPart(id, at, end) ? to : end;
        }
    }

    // Returns whether nothing is left to be fsynced of the segment, whatever comes behind the part.
    private boolean syncPart(long id, int from, int to) throws IOException {
        Slot slot;
        SlotFile.Syncing syncing;
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
            isWhole = !held || !lengthSynced.contains(number);
            syncing = held ? slot.file.syncing(isWhole) : null;
            if (held) {
                slot.pins++;
                slot.syncing++;
                slot.synced = true;
            } else {
                unheld.add(number);
            }
        } finally {
            lock.unlock();
        }
        boolean done = false;
        try {
            if (syncing == null) {
                ring.force(id);
            } else {
                // After the first time the range alone: fsyncing zeros makes each of their pages fault again.
                syncing.force(from, to);
            }
            done = true;
        } finally {
            lock.lock();
            try {
                if (done) {
                    lengthSynced.add(number);
                }
                if (syncing != null) {
                    slot.syncing--;
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
