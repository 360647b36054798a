package org.mmapqueue.swap;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.segment.SegmentSyncer;

/**
 * Keeps at most {@code max_in_mem_segments} segments mapped. A user of a segment pins it: a pinned segment is not
 * unmapped. The writer and each reader keep their segment pinned, so this class is called once a roll, not once a
 * record. Safe for any number of threads.
 *
 * <p>When the limit is reached, {@link EvictionPolicy} chooses the segments to evict (what Satellite calls
 * displacement), until max / 2 − 1 more may be mapped. Segments preallocated ahead of the writer count towards the
 * limit, and are unmapped first.
 *
 * <p>In the writing process a slot keeps its mapping in each generation, unless it was fsynced: then a new mapping is
 * cheaper than a page fault for each of its pages. In a process that only reads, each segment has a mapping of its own:
 * the writer may {@linkplain #discard delete} a slot's file and create another file of that name.
 *
 * <p>The lock is not held while files are filled, remapped, unmapped, deleted or fsynced.
 */
public final class Swapper implements SegmentSyncer, Closeable {
    private final SegmentRing ring;
    private final boolean writable;
    private final ReentrantLock lock = new ReentrantLock();
    /** A slot was filled, fsynced in part or lost its last pin, or a mapping was unmapped. */
    private final Condition changed = lock.newCondition();

    private final Unmapper unmapper = new Unmapper(lock, changed);
    private final SlotTable slots;
    private final SlotSyncer syncer;
    private final Evictor evictor;
    private final Preallocator preallocator;

    /**
     * A swapper with nothing mapped.
     *
     * @param max the maximum number of segments that may be mapped at once, at least 4
     * @param writable whether segments are mapped to be written
     */
    public Swapper(SegmentRing ring, int max, boolean writable, Scopes scopes) {
        this.ring = ring;
        this.writable = writable;
        this.slots = new SlotTable(ring, !writable, max, changed, unmapper);
        this.syncer = new SlotSyncer(ring, slots, lock, changed);
        this.evictor = new Evictor(writable, slots, unmapper, new EvictionPolicy(slots, scopes), lock, changed);
        this.preallocator = new Preallocator(ring, writable, slots, syncer, unmapper, new SlotLock(lock, changed));
    }

    /**
     * Maps and pins an existing segment. In a process that only reads, the caller checks the header: the writer may
     * delete or recreate the file at any time.
     *
     * @throws CorruptException when the file is missing or has another size
     * @throws IOException when it cannot be opened or mapped
     * @throws org.mmapqueue.errors.ClosedException after {@link #close}
     */
    public Segment pin(long id) throws IOException {
        if (!writable) {
            StackRoom.ensure(); // unmaps
            dropGenerationsBefore(id);
        }
        lock.lock();
        try {
            Slot slot = slots.awaitFilled(id);
            if (!slot.file.isMapped()) {
                evictor.mapLive(slot);
                slot.synced = true; // a reader's faults map pages read-only, so the writer faults as after an fsync
            }
            return pinned(slot, id);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Maps and pins the next segment for the writer, all zeros. Preallocates it if that has not happened.
     *
     * @throws IOException when the disk is full or the file cannot be mapped; the call can be retried
     */
    public Segment enter(long id) throws IOException {
        preallocator.preallocate(id);
        lock.lock();
        try {
            Slot slot = slots.awaitFilled(id);
            if (!slot.file.isMapped()) {
                evictor.mapLive(slot);
            } else {
                slots.enter(slot);
                slots.noteLimit();
            }
            slot.preallocatedId = Slot.NONE;
            slots.enteredUpTo(id);
            return pinned(slot, id);
        } finally {
            lock.unlock();
        }
    }

    // Their slots hold later segments. Files that the writer has deleted keep their disk space while they are mapped
    // here.
    private void dropGenerationsBefore(long id) throws IOException {
        lock.lock();
        try {
            slots.checkOpen();
            slots.releaseGenerationsBefore(id);
            if (unmapper.isIdle()) {
                return;
            }
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
    }

    public Path path(long id) {
        return ring.path(id);
    }

    public SegmentRing ring() {
        return ring;
    }

    /** Sets the writer's segment: only later ones are ever filled with zeros. */
    public void startAt(long id) {
        lock.lock();
        try {
            slots.enteredUpTo(id);
        } finally {
            lock.unlock();
        }
    }

    /** Releases a pin. The caller must not use the segment any more. */
    public void unpin(Segment segment) {
        boolean closed;
        lock.lock();
        try {
            slots.unpin(slots.pinned(segment));
            closed = slots.isClosed();
        } finally {
            lock.unlock();
        }
        if (closed) {
            sweepAfterClose();
        }
    }

    private void sweepAfterClose() {
        try {
            unmapper.sweep();
        } catch (IOException e) {
            // A file could not be closed; its mapping is gone, and so is the queue.
        }
    }

    /**
     * Maps and pins a segment anew, from the file that has its name now, and releases the pin of the old mapping. A file
     * system with layers copies a file when a process opens it to write: an older mapping stays that of the lower layer,
     * and never shows what is written.
     *
     * @return the segment; the same one in a process that writes, which maps no file of a lower layer
     * @throws IOException when it cannot be opened or mapped; the old pin is kept
     */
    public Segment renew(Segment segment) throws IOException {
        if (writable) {
            return segment;
        }
        Segment renewed;
        lock.lock();
        try {
            Slot slot = slots.renewed(segment);
            evictor.mapLive(slot);
            renewed = pinned(slot, segment.id());
            slots.unpin(slots.pinned(segment));
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
        return renewed;
    }

    /**
     * Maps and pins a segment if its header is valid.
     *
     * @param queue the queue's UUID
     * @return null when its file is missing or short, or holds another segment
     */
    public Segment pinIfThere(long id, UUID queue) throws IOException {
        Segment segment;
        try {
            segment = pin(id);
        } catch (CorruptException e) {
            return null;
        }
        boolean valid = false;
        try {
            valid = segment.headerFault(queue, ring.geometry()) == null;
        } finally {
            if (!valid) {
                unpinAndForget(segment);
            }
        }
        return valid ? segment : null;
    }

    /**
     * Releases a pin of a segment with an invalid header. In a process that only reads, the last unpin unmaps it, and
     * the next {@link #pin} reopens the file, which the writer may have recreated.
     */
    public void unpinAndForget(Segment segment) throws IOException {
        lock.lock();
        try {
            Slot slot = slots.pinned(segment);
            // The writer creates the files that it maps, so it trusts its mappings.
            slot.distrusted = !writable;
            slots.unpin(slot);
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
    }

    /**
     * Preallocates a future segment: fills its slot with zeros and, below the limit, maps it. Does nothing when that is
     * done. The slot must be free: no consumer may need its records. A file that was filled in blocks of another size
     * than the present one is deleted and created again.
     */
    public void preallocate(long id) throws IOException {
        preallocator.preallocate(id);
    }

    /**
     * Deletes the file of a ring slot that holds none of the segments from {@code firstNeeded} to the writer's segment;
     * {@link #preallocate} creates it again. The caller guarantees, until this returns, that no record before {@code
     * firstNeeded} is needed, neither by the cursors in memory nor by those on the disk. The file takes disk space
     * while another process has it mapped.
     *
     * <p>{@link #syncEntries} makes the deletion durable. If a loss of power restores the file, its slot is still a
     * free one.
     *
     * @param number the slot, 0..capacity − 1
     * @param firstNeeded the id of the first segment that is needed
     * @return the bytes of the deleted file; 0 when none was deleted: it is missing, needed, pinned, being filled or
     *     fsynced, or preallocated
     * @throws IOException when it cannot be deleted; the slot is unchanged
     */
    public long discard(int number, long firstNeeded) throws IOException {
        return preallocator.discard(number, firstNeeded);
    }

    /** Makes new and deleted segment files durable. After a failure no later fsync can be trusted. */
    public void syncEntries() throws IOException {
        syncer.syncEntries();
    }

    /**
     * Fsyncs a part of a segment, and the entries of new files. Does nothing for a segment if its slot holds a later
     * one or was {@linkplain #discard discarded}, since no consumer needs it. Any other missing file is an error.
     */
    @Override
    public void force(long id, int from, int to) throws IOException {
        syncer.force(id, from, to);
    }

    /**
     * Like {@link #force}, without the entries of new files: after a loss of power a new file is missing, or has these
     * bytes. Needs no descriptor for a mapped segment.
     */
    public void forceBytes(long id, int from, int to) throws IOException {
        syncer.forceBytes(id, from, to);
    }

    /** Raises the limit to this number of segments, if it is lower. */
    public void atLeast(int segments) {
        lock.lock();
        try {
            if (segments > slots.max()) {
                slots.raiseMax(segments);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether segments that hold records have reached the limit: {@link #evictWhenFull} would evict. */
    public boolean isFull() {
        return slots.isLimitReached();
    }

    /** Evicts when the limit is reached, so that the next segment can be mapped at once. */
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

    /** Number of mapped segments that hold, or have held, records. */
    public int live() {
        return figure(slots::live);
    }

    /** Number of all mapped segments, including preallocated ones. */
    public int mapped() {
        return figure(slots::mapped);
    }

    /** The highest number of segments that were mapped at once since the queue was opened. */
    public int peak() {
        return figure(slots::peak);
    }

    private int figure(IntSupplier ofSlots) {
        StackRoom.lock(lock);
        try {
            return ofSlots.getAsInt();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Unmaps everything without a pin; the last unpin unmaps each of the others. Every later call but an unpin throws
     * ClosedException, or does nothing.
     */
    @Override
    public void close() throws IOException {
        StackRoom.lock(lock);
        try {
            List<Closeable> all = slots.close();
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
