package org.mmapqueue.swap;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.segment.SegmentSyncer;

/**
 * Keeps at most {@code max_in_mem_segments} segments mapped. Whoever uses a segment pins it: a pinned one is never
 * unmapped. Writer and readers keep the pin of the segment that they are in, so that a record costs no call here; only
 * going to another segment does. Safe for any number of threads.
 *
 * <p>When the limit is reached, {@link EvictionPolicy} says which segments go, until max / 2 − 1 places are free.
 * Segments mapped ahead of the writer use places that are free and give them back when somebody else needs one.
 *
 * <p>A slot that comes round again keeps its mapping when it has one, unless it was fsynced: then a new mapping is
 * cheaper than a page fault for each of its pages. The lock is not held while files are filled, mapped anew, unmapped,
 * deleted or fsynced.
 *
 * <p>That goes for the process that writes. In one that only reads no mapping outlives its segment: the writer may have
 * {@linkplain #discard deleted} the slot's file meanwhile and made another one of that name, of which an old mapping
 * would show nothing. So there each segment has a mapping of its own.
 */
public final class Swapper implements SegmentSyncer, Closeable {
    private final SegmentRing ring;
    private final boolean writable;
    private final ReentrantLock lock = new ReentrantLock();
    /** A slot has been filled or has lost its last pin, or a mapping is gone. */
    private final Condition changed = lock.newCondition();

    private final Unmapper unmapper = new Unmapper(lock, changed);
    private final SlotTable slots;
    private final SlotSyncer syncer;
    private final Evictor evictor;
    private final Preallocator preallocator;

    /**
     * A swapper with nothing mapped.
     *
     * @param ring the segment files
     * @param max the most segments that may be mapped at once, at least 4
     * @param writable whether segments are mapped to be written
     * @param scopes where writer and readers are
     */
    public Swapper(SegmentRing ring, int max, boolean writable, Scopes scopes) {
        this.ring = ring;
        this.writable = writable;
        this.slots = new SlotTable(ring, !writable, max, changed, unmapper);
        this.syncer = new SlotSyncer(ring, slots, lock, changed);
        this.evictor = new Evictor(writable, slots, unmapper, scopes, lock, changed);
        this.preallocator = new Preallocator(ring, writable, slots, syncer, unmapper, lock, changed);
    }

    /**
     * A segment that exists, mapped and pinned for the caller. In a process that only reads, the writer may be deleting
     * the file or making it anew at this moment: what is mapped then need not be this segment, as its header tells.
     *
     * @throws CorruptException when its file is missing or has not the full size
     * @throws IOException when it can not be opened or mapped
     */
    public Segment pin(long id) throws IOException {
        StackRoom.ensure();
        if (!writable) {
            dropGenerationsBefore(id);
        }
        lock.lock();
        try {
            Slot slot = slots.settled(id);
            if (!slot.file.isMapped()) {
                evictor.mapLive(slot);
                slot.synced = true; // a reader's faults map pages read-only: as dear to a writer as fsynced ones
            }
            return pinned(slot, id);
        } finally {
            lock.unlock();
        }
    }

    /**
     * The next segment for the writer: all zeros, mapped and pinned. Prepares it first when nobody has.
     *
     * @throws IOException when the disk is full or the file can not be mapped; the call may be repeated
     */
    public Segment enter(long id) throws IOException {
        preallocator.prepare(id);
        lock.lock();
        try {
            Slot slot = slots.settled(id);
            if (!slot.file.isMapped()) {
                evictor.mapLive(slot);
            } else {
                slots.enter(slot);
                slots.noteLimit();
            }
            slot.preparedId = Slot.NONE;
            slots.enteredUpTo(id);
            return pinned(slot, id);
        } finally {
            lock.unlock();
        }
    }

    // Their slots were given to later segments. While they are mapped, what the writer has deleted fills the disk.
    private void dropGenerationsBefore(long id) throws IOException {
        lock.lock();
        try {
            slots.releaseGenerationsBefore(id);
            if (unmapper.isIdle()) {
                return;
            }
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
    }

    /** Where a segment lies. */
    public Path path(long id) {
        return ring.path(id);
    }

    /** The files whose mappings these are. */
    public SegmentRing ring() {
        return ring;
    }

    /** Says where the writer stands: only segments behind this one are ever filled with zeros. */
    public void startAt(long id) {
        lock.lock();
        try {
            slots.enteredUpTo(id);
        } finally {
            lock.unlock();
        }
    }

    /** Gives a pin back; the caller must not use the segment any more. */
    public void unpin(Segment segment) {
        StackRoom.lock(lock);
        try {
            slots.unpin(slots.of(segment.id()));
        } finally {
            lock.unlock();
        }
    }

    /**
     * A segment that is whole, as far as its header tells, mapped and pinned for the caller.
     *
     * @param uuidLow the least significant half of the queue's UUID
     * @return null when there is no such segment: its file is missing or short, or holds another one
     */
    public Segment pinIfThere(long id, long uuidLow) throws IOException {
        Segment segment;
        try {
            segment = pin(id);
        } catch (CorruptException e) {
            return null;
        }
        if (segment.headerFault(uuidLow) != null) {
            unpinAndForget(segment);
            return null;
        }
        return segment;
    }

    /**
     * Gives a pin back whose segment turned out not to be what its id says. In a process that only reads, the mapping
     * goes with its last pin, and the next {@link #pin} opens the file anew: it may have been made again since.
     */
    public void unpinAndForget(Segment segment) throws IOException {
        StackRoom.lock(lock);
        try {
            Slot slot = slots.of(segment.id());
            // The writer's mappings are of the files that it has made itself.
            slot.distrusted = !writable;
            slots.unpin(slot);
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
    }

    /**
     * Fills the slot of a future segment with zeros and, where there is a free place, maps it. Does nothing when that
     * has been done. The slot must be free: no consumer may need what it holds. Its file is made anew when it was filled
     * in other blocks than are good now.
     */
    public void prepare(long id) throws IOException {
        preallocator.prepare(id);
    }

    /**
     * Deletes the file of a ring slot that holds none of the segments from {@code firstNeeded} to the one that the
     * writer is in; {@link #prepare} makes it again. The caller guarantees, until this returns, that no record before
     * {@code firstNeeded} is needed, neither by the cursors in memory nor by those on the disk. A process that reads may
     * have the file mapped still: the disk gets the space back when that is gone, too.
     *
     * <p>The entry is gone for certain after {@link #syncEntries}. When it comes back with a loss of power, it is a
     * free slot's file as any other.
     *
     * @param number the slot, 0..capacity − 1
     * @param firstNeeded the id of the first segment that is needed
     * @return the bytes that the file had; 0 when there is none, or it is needed, or somebody has it pinned, or it is
     *     being filled or fsynced, or is prepared for the writer
     * @throws IOException when it can not be deleted; the slot is as good as before
     */
    public long discard(int number, long firstNeeded) throws IOException {
        return preallocator.discard(number, firstNeeded);
    }

    /**
     * Makes the making and deleting of segment files survive a loss of power. A failure is one of an fsync: nothing that
     * is fsynced later can be trusted.
     */
    public void syncEntries() throws IOException {
        syncer.syncEntries();
    }

    /**
     * Fsyncs a part of a segment, and the entries of files made since the last time. Does nothing for a segment whose
     * slot was given to a later one or {@linkplain #discard discarded}: then nobody needs it. Any other segment whose
     * file is missing is an error.
     */
    @Override
    public void force(long id, int from, int to) throws IOException {
        StackRoom.ensure();
        syncer.force(id, from, to);
    }

    /** Raises the limit where it is lower; for more readers than it was made for. */
    public void atLeast(int segments) {
        StackRoom.lock(lock);
        try {
            if (segments > slots.max()) {
                slots.raiseMax(segments);
                evictor.limitChanged();
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether the limit has been reached by segments that hold records: {@link #evictWhenFull} has work to do. */
    public boolean isFull() {
        return slots.isLimitReached();
    }

    /** Displaces when the limit is reached, so that the next segment finds a free place. */
    public void evictWhenFull() throws IOException {
        StackRoom.lock(lock);
        try {
            if (slots.isAtLimit()) {
                evictor.evict();
            }
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
    }

    /** Segments mapped that hold, or have held, records. */
    public int live() {
        StackRoom.lock(lock);
        try {
            return slots.live();
        } finally {
            lock.unlock();
        }
    }

    /** All segments mapped, the ones ahead of the writer included. */
    public int mapped() {
        StackRoom.lock(lock);
        try {
            return slots.mapped();
        } finally {
            lock.unlock();
        }
    }

    /** The most segments that were mapped at once since the queue was opened. */
    public int peak() {
        StackRoom.lock(lock);
        try {
            return slots.peak();
        } finally {
            lock.unlock();
        }
    }

    /** Unmaps everything. Nobody may use any segment any more. */
    @Override
    public void close() throws IOException {
        StackRoom.lock(lock);
        try {
            List<Closeable> all = slots.detachAll();
            all.add(unmapper);
            Closing.all(all.toArray(new Closeable[0]));
        } finally {
            lock.unlock();
        }
    }

    private Segment pinned(Slot slot, long id) {
        if (slot.segment == null || slot.segment.id() != id) {
            slot.segment = new Segment(id, slot.file.path(), slot.file.mapping());
        }
        slot.pins++;
        return slot.segment;
    }
}
