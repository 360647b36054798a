package org.mmapqueue.swap;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.segment.SlotFile;

/**
 * Fsyncs parts of segments, mapped or not, and the entries of their files. Safe for any number of threads, also while
 * others fill, map and delete the files.
 */
final class SlotSyncer {
    /** The maximum number of bytes of one fsync; bounds the time for which the preallocation of a slot waits. */
    private static final int SYNCED_AT_ONCE = 8 << 20;

    private final SegmentRing ring;
    private final SlotTable slots;
    private final ReentrantLock lock;
    private final Condition changed;
    /** Ring slots with a deleted file; guarded by the lock, as are the next three fields. */
    private final SlotSet discarded = new SlotSet();
    /** Ring slots with a file that this process has fsynced as a whole, so that the length is durable. */
    private final SlotSet lengthSynced = new SlotSet();
    /** Ring slots that this process has preallocated. */
    private final SlotSet known = new SlotSet();
    /** Ring slots that are being fsynced without a pin, one entry for each fsync. */
    private final List<Integer> unheld = new ArrayList<>();
    /** Directory entries of files may be unsynced, also those of an earlier process. */
    private volatile boolean newFiles = true;

    SlotSyncer(SegmentRing ring, SlotTable slots, ReentrantLock lock, Condition changed) {
        this.ring = ring;
        this.slots = slots;
        this.lock = lock;
        this.changed = changed;
    }

    /**
     * Notes that a slot is about to be filled for a future segment. Needs the lock.
     *
     * @return whether the file is older than this process, and used by it for the first time
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

    /** Notes that the length of the slot's file is durable. Needs the lock. */
    void lengthSynced(int number) {
        lengthSynced.add(number);
    }

    /** Whether the slot's file is being fsynced without a pin. Needs the lock. */
    boolean isSyncingUnheld(int number) {
        return unheld.contains(number);
    }

    /** Notes that the slot's file has been deleted. Needs the lock. */
    void discarded(int number) {
        discarded.add(number);
    }

    /** As {@link Swapper#syncEntries}. */
    void syncEntries() throws IOException {
        newFiles = false;
        try {
            ring.syncEntries();
        } catch (IOException | RuntimeException | Error e) {
            newFiles = true;
            throw e;
        }
    }

    /** As {@link Swapper#force}. */
    void force(long id, int from, int to) throws IOException {
        if (newFiles) {
            syncEntries();
        }
        forceBytes(id, from, to);
    }

    /** As {@link Swapper#forceBytes}. */
    void forceBytes(long id, int from, int to) throws IOException {
        int at = from;
        while (at < to) {
            int end = Math.min(to, (at / SYNCED_AT_ONCE + 1) * SYNCED_AT_ONCE);
            at = syncPart(id, at, end) ? to : end;
        }
    }

    // Returns whether the rest of the segment needs no fsync.
    private boolean syncPart(long id, int from, int to) throws IOException {
        Slot slot;
        SlotFile.Syncing syncing;
        boolean isWhole;
        int number = ring.geometry().slotOf(id);
        lock.lock();
        try {
            slots.checkOpen();
            slot = slots.of(id);
            if (slot != null
                            && (slot.filling
                                    || slot.preallocatedId > id
                                    || slot.segment != null && slot.segment.id() > id)
                    || discarded.contains(number)) {
                return true; // acked by all consumers: its slot holds a later segment, or no file
            }
            boolean held = slot != null && slot.file.isMapped();
            // The first fsync is of the whole file: a file system may make the file's length durable only as far as
            // pages are written back.
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
                // Later fsyncs are of the range only: pages of zeros that were fsynced would fault again.
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
