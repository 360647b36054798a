package org.mmapqueue.swap;

import java.io.IOException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.StackRoom;

/**
 * Maps segments, and unmaps others when the limit is reached; {@link EvictionPolicy} chooses which. All methods need
 * the swapper's lock, which is released while mappings are unmapped.
 */
final class Evictor {
    private static final long PIN_WAIT_NANOS = 10_000_000_000L;

    private final boolean writable;
    private final SlotTable slots;
    private final Unmapper unmapper;
    private final EvictionPolicy policy;
    private final ReentrantLock lock;
    private final Condition changed;

    Evictor(
            boolean writable,
            SlotTable slots,
            Unmapper unmapper,
            EvictionPolicy policy,
            ReentrantLock lock,
            Condition changed) {
        this.writable = writable;
        this.slots = slots;
        this.unmapper = unmapper;
        this.policy = policy;
        this.lock = lock;
        this.changed = changed;
    }

    /** Maps a slot that has a file; evicts others first when the limit is reached. */
    void mapLive(Slot slot) throws IOException {
        slot.pins++; // makeRoomFor must not evict it
        try {
            StackRoom.ensure();
            makeRoomFor(slot);
            if (!slot.file.isMapped()) {
                slot.file.map(writable);
                slots.countLive();
            } else {
                slots.enter(slot);
            }
            slots.noteLimit();
        } finally {
            slot.pins--;
            // A thread that fills the slot uses its file, and closes the file at the end.
            if (!slot.filling && !slot.file.isMapped()) {
                slot.file.detach().close();
            }
            slots.forgetIfIdle(slot);
        }
    }

    // Waits while another thread fills or maps this slot, or is about to unmap others. A slot is not released while
    // its file is filled. Readers pin a second segment while they follow a record into it.
    private void makeRoomFor(Slot slot) throws IOException {
        long left = PIN_WAIT_NANOS;
        while (slot.filling || !slot.file.isMapped() && slots.isFull()) {
            if (!slot.filling && unmapper.isIdle() && slots.live() < slots.max()) {
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
            throw new MmapQueueException(
                    "all " + slots.max() + " segments that max_in_mem_segments allows are in use at"
                            + " once; it has to be larger for this many consumers");
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

    /** Evicts segments without a pin, until the policy has enough. */
    void evict() {
        int wanted = policy.wantedFree();
        policy.offer(key -> {
            Slot slot = slots.at(key);
            if (slot != null) {
                slots.release(slot);
            }
            return slots.max() - slots.live() >= wanted;
        });
        if (slots.live() >= slots.max()) {
            // No segment of the scopes is unpinned, because readers have jumped: evict any other.
            for (Slot slot : slots.all()) {
                if (slots.max() - slots.live() < wanted) {
                    slots.release(slot);
                }
            }
        }
        slots.noteLimit();
    }
}
