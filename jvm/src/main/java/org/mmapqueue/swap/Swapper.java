package org.mmapqueue.swap;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentForcer;
import org.mmapqueue.segment.SegmentRing;

/**
 * Keeps at most {@code max_in_mem_segments} segments mapped. Whoever uses a segment pins it: a pinned one is never
 * unmapped. Writer and readers keep the pin of the segment that they are in, so that a record costs no call here; only
 * going to another segment does. Safe for any number of threads.
 *
 * <p>When the limit is reached, {@link EvictionPolicy} says which segments go, until max / 2 − 1 places are free.
 * Segments mapped ahead of the writer use places that are free and give them back when somebody else needs one.
 *
 * <p>A slot that comes round again keeps its mapping when it has one, unless it was forced: then a new mapping is
 * cheaper than a page fault for each of its pages. The lock is not held while files are filled, mapped anew, unmapped,
 * deleted or forced.
 *
 * <p>That goes for the process that writes. In one that only reads no mapping outlives its segment: the writer may have
 * {@linkplain #discard deleted} the slot's file meanwhile and made another one of that name, of which an old mapping
 * would show nothing. So there each segment has a mapping of its own.
 */
public final class Swapper implements SegmentForcer, Closeable {
    private static final long PIN_WAIT_NANOS = 10_000_000_000L;
    /** Below this a page fault or two on the writer's side are cheaper than having the preparing thread take them. */
    private static final int TOUCHED_FROM = 2 << 20;

    private final SegmentRing ring;
    private final Geometry geometry;
    /** Raised under the lock, never lowered. */
    private int max;
    private final boolean writable;
    private EvictionPolicy evictionPolicy;
    private final Scopes scopes;
    private final ReentrantLock lock = new ReentrantLock();
    /** A slot has been filled or has lost its last pin, or a mapping is gone. */
    private final Condition changed = lock.newCondition();
    private final Unmapper unmapper = new Unmapper(lock, changed);
    private final SlotTable slots;
    private final SlotForcer forcer;
    private final FilledFiles filled = new FilledFiles();
    private long lastEntered = -1;
    private volatile boolean full;

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
        this.geometry = ring.geometry();
        this.max = max;
        this.writable = writable;
        this.scopes = scopes;
        this.slots = new SlotTable(ring, !writable, changed, unmapper);
        this.forcer = new SlotForcer(ring, slots, lock, changed);
        this.evictionPolicy = new EvictionPolicy(max, slots::keyOf, scopes);
    }

    /**
     * A segment that exists, mapped and pinned for the caller. In a process that only reads, the writer may be deleting
     * the file or making it anew at this moment: what is mapped then need not be this segment, as its header tells.
     *
     * @throws CorruptException when its file is missing or has not the full size
     * @throws IOException when it can not be opened or mapped
     */
    public Segment pin(long id) throws IOException {
        if (!writable) {
            dropLapsBefore(id);
        }
        lock.lock();
        try {
            Slot slot = slots.settled(id);
            if (!slot.file.isMapped()) {
                mapLive(slot);
                slot.forced = true; // a reader's faults map pages read-only: as dear to a writer as forced ones
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
        prepare(id);
        lock.lock();
        try {
            Slot slot = slots.settled(id);
            if (!slot.file.isMapped()) {
                mapLive(slot);
            } else {
                slots.enter(slot);
                full = isLimitReached();
            }
            slot.preparedId = Slot.NONE;
            lastEntered = id;
            return pinned(slot, id);
        } finally {
            lock.unlock();
        }
    }

    // Their slots were given to later segments. While they are mapped, what the writer has deleted fills the disk.
    private void dropLapsBefore(long id) throws IOException {
        lock.lock();
        try {
            slots.releaseLapsBefore(id);
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
            lastEntered = id;
        } finally {
            lock.unlock();
        }
    }

    /** Gives a pin back; the caller must not use the segment any more. */
    public void unpin(Segment segment) {
        lock.lock();
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
        lock.lock();
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
        Slot slot;
        boolean isFilled;
        boolean isNew;
        boolean isFound;
        int number = geometry.slotOf(id);
        int blockSize = ring.blocks().next();
        if (filled.isOtherwise(number, blockSize)) {
            discardIfPossible(number, id - geometry.capacity() + 1);
        }
        lock.lock();
        try {
            slot = slots.settled(id);
            isFilled = slot.preparedId == id;
            boolean isDone = isFilled && (slot.file.isMapped() || slots.mapped() >= max);
            // Somebody may have prepared it meanwhile, and the writer may be in it.
            if (isDone || id <= lastEntered) {
                slots.forgetIfIdle(slot);
                return;
            }
            isNew = slot.file.openToWrite();
            isFound = forcer.taken(number, isNew);
            slot.filling = true;
        } finally {
            lock.unlock();
        }
        boolean done = false;
        try {
            if (!isFilled) {
                if (isFound && geometry.segmentSize() > ring.blocks().large()) {
                    forceLength(slot, number);
                }
                slot.file.fill(blockSize);
                if (isNew) {
                    filled.made(number, blockSize);
                }
            }
            mapAhead(slot);
            done = true;
        } finally {
            lock.lock();
            try {
                slot.filling = false;
                slot.preparedId = done ? id : Slot.NONE;
                if (!slot.file.isMapped()) {
                    slot.file.detach().close();
                }
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private void discardIfPossible(int number, long firstNeeded) {
        try {
            discard(number, firstNeeded);
        } catch (IOException e) {
            // It is as good as before, and slower to force at worst.
        }
    }

    // While it holds what nobody needs any more, and an earlier process has mostly brought to the disk. Else the first
    // flush of the new segment would have to do it, and each page behind the writer's place would fault.
    private void forceLength(Slot slot, int number) throws IOException {
        if (slot.file.forceLength()) {
            lock.lock();
            try {
                forcer.lengthForced(number);
            } finally {
                lock.unlock();
            }
        }
    }

    // By whoever fills the slot: nobody else pins or unmaps it meanwhile.
    private void mapAhead(Slot slot) throws IOException {
        boolean remap;
        lock.lock();
        try {
            // What its last lap held is of no use to anybody by now, and the next part of it will not be forced.
            while (slot.forcing > 0) {
                changed.awaitUninterruptibly();
            }
            if (slot.file.isMapped()) {
                remap = slot.forced && slot.pins == 0;
            } else if (slots.mapped() < max) {
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
            slot.forced = false;
            try {
                slot.file.remap(writable);
            } finally {
                countIfLost(slot);
            }
        }
        if (geometry.segmentSize() >= TOUCHED_FROM) {
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

    /**
     * Deletes the file of a ring slot that holds none of the segments from {@code firstNeeded} to the one that the
     * writer is in; {@link #prepare} makes it again. The caller guarantees, until this returns, that no record before
     * {@code firstNeeded} is needed, neither by the cursors in memory nor by those on the disk. A process that reads may
     * have the file mapped still: the disk gets the space back when that is gone, too.
     *
     * <p>The entry is gone for certain after {@link #forceEntries}. When it comes back with a loss of power, it is a
     * free slot's file as any other.
     *
     * @param number the slot, 0..capacity − 1
     * @param firstNeeded the id of the first segment that is needed
     * @return the bytes that the file had; 0 when there is none, or it is needed, or somebody has it pinned, or it is
     *     being filled or forced, or is prepared for the writer
     * @throws IOException when it can not be deleted; the slot is as good as before
     */
    public long discard(int number, long firstNeeded) throws IOException {
        StackRoom.ensure();
        if (!writable) {
            throw new IllegalStateException("a process that only reads deletes no segment files");
        }
        Objects.checkIndex(number, geometry.capacity());
        // What was displaced from here before would keep the space.
        unmapper.sweep();
        Slot slot;
        Closeable old;
        boolean wasMapped;
        lock.lock();
        try {
            // By where the writer is now, which may be further than the caller knows.
            if (Math.floorMod(number - firstNeeded, (long) geometry.capacity()) <= lastEntered - firstNeeded) {
                return 0;
            }
            if (forcer.isForcingUnheld(number)) {
                return 0;
            }
            slot = slots.at(number);
            if (slot == null) {
                slot = slots.add(number);
            } else if (slot.pins > 0 || slot.filling || slot.ahead || slot.preparedId != Slot.NONE) {
                return 0;
            }
            slot.filling = true;
            slot.segment = null;
            slot.forced = false;
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
                full = isLimitReached();
                if (bytes > 0) {
                    forcer.discarded(number);
                }
                slots.forgetIfIdle(slot);
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Makes the making and deleting of segment files survive a loss of power. A failure is one of a force: nothing that
     * is forced later can be trusted.
     */
    public void forceEntries() throws IOException {
        forcer.forceEntries();
    }

    /**
     * Forces a part of a segment, and the entries of files made since the last time. Does nothing for a segment whose
     * slot was given to a later one or {@linkplain #discard discarded}: then nobody needs it. Any other segment whose
     * file is missing is an error.
     */
    @Override
    public void force(long id, int from, int to) throws IOException {
        forcer.force(id, from, to);
    }

    // A ring that fits into memory never needs a place.
    private boolean isLimitReached() {
        return slots.live() >= max && max < geometry.capacity();
    }

    /** Raises the limit where it is lower; for more readers than it was made for. */
    public void atLeast(int segments) {
        lock.lock();
        try {
            if (segments > max) {
                max = segments;
                evictionPolicy = new EvictionPolicy(max, slots::keyOf, scopes);
                full = isLimitReached();
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether the limit has been reached by segments that hold records: {@link #evictWhenFull} has work to do. */
    public boolean isFull() {
        return full;
    }

    /** Displaces when the limit is reached, so that the next segment finds a free place. */
    public void evictWhenFull() throws IOException {
        StackRoom.ensure();
        lock.lock();
        try {
            if (isLimitReached()) {
                evict();
            }
        } finally {
            lock.unlock();
        }
        unmapper.sweep();
    }

    /** Segments mapped that hold, or have held, records. */
    public int live() {
        StackRoom.ensure();
        lock.lock();
        try {
            return slots.live();
        } finally {
            lock.unlock();
        }
    }

    /** All segments mapped, the ones ahead of the writer included. */
    public int mapped() {
        StackRoom.ensure();
        lock.lock();
        try {
            return slots.mapped();
        } finally {
            lock.unlock();
        }
    }

    /** The most segments that were mapped at once since the queue was opened. */
    public int peak() {
        StackRoom.ensure();
        lock.lock();
        try {
            return slots.peak();
        } finally {
            lock.unlock();
        }
    }

    /** Unmaps everything. Nobody may use any segment any more. */
    @Override
    public void close() throws IOException {
        StackRoom.ensure();
        lock.lock();
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

    private void mapLive(Slot slot) throws IOException {
        slot.pins++; // not to be displaced by its own coming
        try {
            makeRoomFor(slot);
            if (!slot.file.isMapped()) {
                slot.file.map(writable);
                slots.countLive();
            } else {
                slots.enter(slot);
            }
            full = isLimitReached();
        } finally {
            slot.pins--;
            if (!slot.file.isMapped()) {
                slot.file.detach().close();
            }
            slots.forgetIfIdle(slot);
        }
    }

    // What is worth waiting for: another thread fills or maps this very slot, or is about to unmap others; one that is
    // being filled can not be given back; readers pin a second segment while they follow a record into it.
    private void makeRoomFor(Slot slot) throws IOException {
        long left = PIN_WAIT_NANOS;
        while (slot.filling || !slot.file.isMapped() && slots.mapped() >= max) {
            if (!slot.filling && unmapper.isIdle() && slots.live() < max) {
                slots.releaseOneAhead();
            }
            if (!slot.filling && unmapper.isIdle()) {
                evict();
            }
            if (slot.filling || unmapper.isIdle()) {
                left = awaitChange(left);
            } else {
                lock.unlock();
                try {
                    unmapper.sweep();
                } finally {
                    lock.lock();
                }
            }
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the callers loop
    private long awaitChange(long left) {
        if (left <= 0) {
            throw new MmapQueueException("all " + max + " segments that max_in_mem_segments allows are in use at once;"
                    + " it has to be larger for this many consumers");
        }
        boolean interrupted = Thread.interrupted();
        long start = System.nanoTime();
        try {
            changed.awaitNanos(left);
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return left - (System.nanoTime() - start);
    }

    private void evict() {
        int wanted = evictionPolicy.wantedPlaces();
        evictionPolicy.offer(key -> {
            Slot slot = slots.at(key);
            if (slot != null) {
                slots.release(slot);
            }
            return max - slots.live() >= wanted;
        });
        if (slots.live() >= max) {
            // Neither scope holds one that is free to go: readers have jumped. Any other one will do.
            for (Slot slot : slots.all()) {
                if (max - slots.live() < wanted) {
                    slots.release(slot);
                }
            }
        }
        full = isLimitReached();
    }
}
