package org.mmapqueue.swap;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import org.mmapqueue.segment.SegmentRing;

/**
 * The slots that the swapper has something to remember of, and how many of them are mapped. All of it with the
 * swapper's lock.
 */
final class SlotTable {
    private final SegmentRing ring;
    private final boolean byId;
    private final Condition changed;
    private final Unmapper unmapper;
    private final NavigableMap<Long, Slot> slots = new TreeMap<>();
    /** The most mapped segments; raised under the lock, never lowered. */
    private int max;

    private int live;
    private int ahead;
    private int peak;
    private long lastEntered = -1;
    private volatile boolean limitReached;

    /**
     * An empty table.
     *
     * @param byId whether each segment is a slot of its own, instead of each file
     * @param max the most segments that may be mapped at once
     * @param changed is signalled when a slot's {@code filling} has ended, and here when its last pin is gone
     * @param unmapper takes the mappings that are given up
     */
    SlotTable(SegmentRing ring, boolean byId, int max, Condition changed, Unmapper unmapper) {
        this.ring = ring;
        this.byId = byId;
        this.max = max;
        this.changed = changed;
        this.unmapper = unmapper;
    }

    /** What the slot of a segment is found by; before segment 0 of a ring comes the last slot. */
    long keyOf(long id) {
        return byId ? id : Math.floorMod(id, (long) ring.geometry().capacity());
    }

    /** The slot with a key, or null. */
    Slot at(long key) {
        return slots.get(key);
    }

    /** The slot of a segment, or null. */
    Slot of(long id) {
        return at(keyOf(id));
    }

    /** The slot of a segment, as soon as nobody is filling it; a new one when there is none. */
    Slot settled(long id) {
        Slot slot = of(id);
        while (slot != null && slot.filling) {
            changed.awaitUninterruptibly();
            slot = of(id);
        }
        return slot == null ? add(id) : slot;
    }

    /** Adds a slot that is not there yet. */
    Slot add(long id) {
        Slot slot = new Slot(keyOf(id), ring.slotFile(id));
        slots.put(slot.key, slot);
        return slot;
    }

    /** All slots, as they are now. */
    List<Slot> all() {
        return List.copyOf(slots.values());
    }

    /** Forgets a slot of which there is nothing to remember. */
    void forgetIfIdle(Slot slot) {
        if (slot.isIdle()) {
            slots.remove(slot.key);
        }
    }

    /** Segments mapped that hold, or have held, records. */
    int live() {
        return live;
    }

    /** All mapped, those ahead of the writer and those on their way out included. */
    int mapped() {
        return live + ahead + unmapper.pending();
    }

    /** The most that were mapped at once. */
    int peak() {
        return peak;
    }

    /** The most segments that may be mapped at once. */
    int max() {
        return max;
    }

    /** Raises the limit. */
    void raiseMax(int segments) {
        max = segments;
        noteLimit();
    }

    /** Whether no segment more may be mapped. */
    boolean isFull() {
        return mapped() >= max;
    }

    /** {@link #isAtLimit} when it was noted last. Any thread, without the lock. */
    boolean isLimitReached() {
        return limitReached;
    }

    /** Whether the limit is reached by segments that hold records. A ring that fits into memory never reaches it. */
    boolean isAtLimit() {
        return live >= max && max < ring.geometry().capacity();
    }

    /** Notes {@link #isAtLimit} for threads without the lock. */
    void noteLimit() {
        limitReached = isAtLimit();
    }

    /** The writer has entered this segment: only later ones are ever filled with zeros. */
    void enteredUpTo(long id) {
        lastEntered = id;
    }

    /** The segment that the writer has entered last. */
    long lastEntered() {
        return lastEntered;
    }

    /** The slot has got a mapping that is in use. */
    void countLive() {
        live++;
        peak = Math.max(peak, mapped());
    }

    /** The slot has got a mapping before the writer has entered it. */
    void countAhead(Slot slot) {
        slot.ahead = true;
        ahead++;
        peak = Math.max(peak, mapped());
    }

    /** The writer enters the slot. */
    void enter(Slot slot) {
        if (slot.ahead) {
            slot.ahead = false;
            ahead--;
            live++;
        }
    }

    /** The slot has lost its mapping. */
    void countLost(Slot slot) {
        if (slot.ahead) {
            slot.ahead = false;
            ahead--;
        } else {
            live--;
        }
    }

    /** Gives a pin back. */
    void unpin(Slot slot) {
        slot.pins--;
        if (slot.pins == 0) {
            if (slot.distrusted) {
                release(slot);
            }
            changed.signalAll();
        }
    }

    /** Gives up the mapping of a slot that nobody uses; does nothing for any other one. */
    void release(Slot slot) {
        if (slot.pins > 0 || slot.filling || slot.ahead || !slot.file.isMapped()) {
            return;
        }
        unmapper.add(slot.file.detach());
        live--;
        slot.segment = null;
        slot.synced = false;
        slot.distrusted = false;
        forgetIfIdle(slot);
    }

    /** Gives up the mappings of segments whose files hold later ones by now; for a table by id. */
    void releaseGenerationsBefore(long id) {
        for (Slot slot :
                List.copyOf(slots.headMap(id - ring.geometry().capacity(), true).values())) {
            release(slot);
        }
    }

    /** Gives up the mapping that the writer will need last. */
    void releaseOneAhead() {
        Slot last = null;
        for (Slot slot : slots.values()) {
            if (slot.ahead && !slot.filling && slot.pins == 0 && (last == null || slot.preparedId > last.preparedId)) {
                last = slot;
            }
        }
        if (last != null) {
            unmapper.add(last.file.detach());
            last.ahead = false;
            last.segment = null;
            ahead--;
        }
    }

    /** Takes all mappings out, whoever uses them, once nothing is being filled. */
    List<Closeable> detachAll() {
        List<Closeable> mappings = new ArrayList<>();
        for (Slot slot : all()) { // a copy: slots may be forgotten while this waits
            while (slot.filling) {
                changed.awaitUninterruptibly();
            }
            mappings.add(slot.file.detach());
        }
        slots.clear();
        live = 0;
        ahead = 0;
        return mappings;
    }
}
