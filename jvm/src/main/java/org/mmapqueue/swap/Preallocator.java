package org.mmapqueue.swap;

import java.io.Closeable;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.SegmentRing;

/**
 * Fills the files of future segments with zeros and maps them before the writer needs them; deletes the files of free
 * slots. While a file is filled, remapped or deleted, its slot's {@code filling} flag guards it instead of the lock.
 * Safe for any number of threads.
 */
final class Preallocator {
    /**
     * Segment size in bytes from which the pages are touched ahead; in smaller segments the writer's few faults cost
     * less.
     */
    private static final int TOUCHED_FROM = 2 << 20;

    private final SegmentRing ring;
    private final boolean writable;
    private final SlotTable slots;
    private final SlotSyncer syncer;
    private final Unmapper unmapper;
    private final FilledFiles filled = new FilledFiles();
    private final ReentrantLock lock;
    private final Condition changed;

    Preallocator(
            SegmentRing ring, boolean writable, SlotTable slots, SlotSyncer syncer, Unmapper unmapper, SlotLock lock) {
        this.ring = ring;
        this.writable = writable;
        this.slots = slots;
        this.syncer = syncer;
        this.unmapper = unmapper;
        this.lock = lock.lock();
        this.changed = lock.changed();
    }

    /** As {@link Swapper#preallocate}. */
    void preallocate(long id) throws IOException {
        Slot slot;
        boolean isFilled;
        boolean isNew;
        boolean isFound;
        int number = ring.geometry().slotOf(id);
        int blockSize = ring.blocks().next();
        if (filled.isOtherwise(number, blockSize)) {
            discardIfPossible(number, id - ring.geometry().capacity() + 1);
        }
        lock.lock();
        try {
            slot = slots.awaitFilled(id);
            isFilled = slot.preallocatedId == id;
            boolean isDone = isFilled && (slot.file.isMapped() || slots.isFull());
            // Another thread may have preallocated the segment, and the writer may have rolled into it.
            if (isDone || id <= slots.lastEntered()) {
                slots.forgetIfIdle(slot);
                return;
            }
            isNew = slot.file.openToWrite();
            isFound = syncer.taken(number, isNew);
            slot.filling = true;
        } finally {
            lock.unlock();
        }
        boolean done = false;
        try {
            Closing.all(
                    () -> {
                        if (!isFilled) {
                            fill(slot, number, blockSize, isNew, isFound);
                        }
                        mapAhead(slot);
                    },
                    () -> closeUnlessMapped(slot));
            done = true;
        } finally {
            lock.lock();
            try {
                slot.filling = false;
                slot.preallocatedId = done ? id : Slot.NONE;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private void fill(Slot slot, int number, int blockSize, boolean isNew, boolean isFound) throws IOException {
        if (isFound && ring.geometry().segmentSize() > ring.blocks().large()) {
            syncLength(slot, number);
        }
        slot.file.fill(blockSize);
        if (isNew) {
            filled.made(number, blockSize);
        }
    }

    // Called by the thread that fills the slot. A network file system may write what was filled only now.
    private static void closeUnlessMapped(Slot slot) throws IOException {
        if (!slot.file.isMapped()) {
            slot.file.detach().close();
        }
    }

    private void discardIfPossible(int number, long firstNeeded) {
        try {
            discard(number, firstNeeded);
        } catch (IOException e) {
            // The file is unchanged: its fsyncs may be slower.
        }
    }

    // Called before the fill, when the file's content is mostly durable since an earlier process. Otherwise the
    // first flush of the new segment would fsync the whole file, and each page after the writing position would fault.
    private void syncLength(Slot slot, int number) throws IOException {
        if (slot.file.syncLength()) {
            lock.lock();
            try {
                syncer.lengthSynced(number);
            } finally {
                lock.unlock();
            }
        }
    }

    // Called by the thread that fills the slot: no other thread pins or unmaps it.
    private void mapAhead(Slot slot) throws IOException {
        boolean remap;
        lock.lock();
        try {
            // Waits for fsyncs of the slot's previous generation; no more of them begin.
            while (slot.syncing > 0) {
                changed.awaitUninterruptibly();
            }
            if (slot.file.isMapped()) {
                remap = slot.synced && slot.pins == 0;
            } else if (!slots.isFull()) {
                slot.file.map(writable);
                slots.countAhead(slot);
                remap = false;
            } else {
                return;
            }
        } finally {
            lock.unlock();
        }
        if (remap) {
            slot.segment = null;
            slot.synced = false;
            try {
                slot.file.remap(writable);
            } finally {
                countIfLost(slot);
            }
        }
        if (ring.geometry().segmentSize() >= TOUCHED_FROM) {
            slot.file.touch();
        }
    }

    private void countIfLost(Slot slot) {
        lock.lock();
        try {
            if (!slot.file.isMapped()) {
                slots.countLost(slot);
            }
        } finally {
            lock.unlock();
        }
    }

    /** As {@link Swapper#discard}. */
    long discard(int number, long firstNeeded) throws IOException {
        StackRoom.ensure();
        if (!writable) {
            throw new IllegalStateException("a process that only reads deletes no segment files");
        }
        Objects.checkIndex(number, ring.geometry().capacity());
        // Unmaps evicted mappings first: one of this file would keep its disk space.
        unmapper.sweep();
        Slot slot;
        Closeable old;
        boolean wasMapped;
        lock.lock();
        try {
            slots.checkOpen();
            // Compares with the writer's segment as it is now, which may be later than the caller knows.
            if (Math.floorMod(number - firstNeeded, (long) ring.geometry().capacity())
                    <= slots.lastEntered() - firstNeeded) {
                return 0;
            }
            if (syncer.isSyncingUnheld(number)) {
                return 0;
            }
            slot = slots.at(number);
            if (slot == null) {
                slot = slots.add(number);
            } else if (slot.pins > 0 || slot.filling || slot.ahead || slot.preallocatedId != Slot.NONE) {
                return 0;
            }
            slot.filling = true;
            slot.segment = null;
            slot.synced = false;
            wasMapped = slot.file.isMapped();
            old = slot.file.detach();
        } finally {
            lock.unlock();
        }
        long bytes = 0;
        try {
            old.close();
            bytes = ring.delete(number);
            return bytes;
        } finally {
            lock.lock();
            try {
                slot.filling = false;
                if (wasMapped) {
                    slots.countLost(slot);
                }
                slots.noteLimit();
                if (bytes > 0) {
                    syncer.discarded(number);
                }
                slots.forgetIfIdle(slot);
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }
}
