package org.mmapqueue.swap;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;

/** The slots in use, and how many of them are mapped. The swapper's lock guards it. */
final class SlotTable {
    private final SegmentRing ring;
    private final boolean byId;
    private final Condition changed;
    private final Unmapper unmapper;
    private final NavigableMap<Long, Slot> slots = new TreeMap<>();
    /** Pinned slots that others have replaced; in a table by segment id. */
    private final List<Slot> stale = new ArrayList<>();
    /** The maximum number of mapped segments; raised under the lock, never lowered. */
    private int max;

    private int live;
    private int ahead;
    private int peak;
    private long lastEntered = -1;
    private boolean closed;
    private volatile boolean limitReached;

    /**
     * An empty table.
     *
     * @param byId whether slots are by segment id, instead of by ring slot
     * @param max the maximum number of segments that may be mapped at once
     * @param changed signalled when a slot's {@code filling} has ended or its last pin was released
     */
    SlotTable(SegmentRing ring, boolean byId, int max, Condition changed, Unmapper unmapper) {
        this.ring = ring;
        this.byId = byId;
        this.max = max;
        this.changed = changed;
        this.unmapper = unmapper;
    }

    /** The key of a segment's slot; before segment 0 of a ring comes the last slot. */
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

    /** Throws ClosedException after {@link #close}. */
    void checkOpen() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
    }

    /**
     * Waits until no thread fills the slot of a segment, and returns the slot, a new one if none exists; throws
     * ClosedException after {@link #close}.
     */
    Slot awaitFilled(long id) {
        Slot slot = of(id);
        while (slot != null && slot.filling) {
            changed.awaitUninterruptibly();
            slot = of(id);
        }
        checkOpen();
        return slot == null ? add(id) : slot;
    }

    Slot add(long id) {
        Slot slot = new Slot(keyOf(id), ring.slotFile(id));
        slots.put(slot.key, slot);
        return slot;
    }

    /** All slots, as they are now. */
    List<Slot> all() {
        return List.copyOf(slots.values());
    }

    /** Removes a slot that is unmapped and unused. */
    void forgetIfIdle(Slot slot) {
        if (slot.isIdle()) {
            slots.remove(slot.key);
        }
    }

    /** Number of mapped segments that hold, or have held, records. */
    int live() {
        return live;
    }

    /** Number of all mapped segments, including preallocated ones and those being unmapped. */
    int mapped() {
        return live + ahead + unmapper.pending();
    }

    /** The highest number of segments that were mapped at once. */
    int peak() {
        return peak;
    }

    /** The limit: the maximum number of segments that may be mapped at once. */
    int max() {
        return max;
    }

    void raiseMax(int segments) {
        max = segments;
        noteLimit();
    }

    /** Whether no further segment may be mapped. */
    boolean isFull() {
        return mapped() >= max;
    }

    /** The value of {@link #isAtLimit} when it was last noted. Any thread, without the lock. */
    boolean isLimitReached() {
        return limitReached;
    }

    /** Whether segments that hold records have reached the limit. A ring that fits into memory never does. */
    boolean isAtLimit() {
        return live >= max && max < ring.geometry().capacity();
    }

    /** Stores {@link #isAtLimit} for threads without the lock. */
    void noteLimit() {
        limitReached = isAtLimit();
    }

    /** Notes that the writer has rolled into this segment: only later ones are ever filled with zeros. */
    void enteredUpTo(long id) {
        lastEntered = id;
    }

    /** The segment that the writer rolled into last. */
    long lastEntered() {
        return lastEntered;
    }

    /** Counts a slot that was mapped for use. */
    void countLive() {
        live++;
        peak = Math.max(peak, mapped());
    }

    /** Counts a slot that was mapped ahead of the writer. */
    void countAhead(Slot slot) {
        slot.ahead = true;
        ahead++;
        peak = Math.max(peak, mapped());
    }

    /** Counts a slot that the writer rolls into. */
    void enter(Slot slot) {
        if (slot.ahead) {
            slot.ahead = false;
            ahead--;
            live++;
        }
    }

    /** Counts a slot that was unmapped. */
    void countLost(Slot slot) {
        if (slot.ahead) {
            slot.ahead = false;
            ahead--;
        } else {
            live--;
        }
    }

    /**
     * Replaces the slot of a pinned segment by a new one, for a table by segment id: the mapping may be of a file that has
     * another segment in its place. The old slot is released with its last pin.
     */
    Slot renewed(Segment segment) {
        Slot old = of(segment.id());
        old.distrusted = true;
        stale.add(old);
        slots.remove(old.key);
        return add(segment.id());
    }

    /** The slot of a pinned segment. */
    Slot pinned(Segment segment) {
        for (Slot each : stale) {
            if (each.segment == segment) {
                return each;
            }
        }
        return of(segment.id());
    }

    void unpin(Slot slot) {
        slot.pins--;
        if (slot.pins == 0) {
            if (slot.distrusted || closed) {
                release(slot);
            }
            changed.signalAll();
        }
    }

    /** Releases the mapping of an unused slot; does nothing for a used one. */
    void release(Slot slot) {
        if (slot.pins > 0 || slot.filling || slot.ahead || !slot.file.isMapped()) {
            return;
        }
        unmapper.add(slot.file.detach());
        live--;
        slot.segment = null;
        slot.synced = false;
        slot.distrusted = false;
        if (!stale.remove(slot)) {
            forgetIfIdle(slot);
        }
    }

    /** Releases the mappings of segments with files that hold later segments; for a table by segment id. */
    void releaseGenerationsBefore(long id) {
        for (Slot slot :
                List.copyOf(slots.headMap(id - ring.geometry().capacity(), true).values())) {
            release(slot);
        }
    }

    /** Releases the preallocated mapping that the writer will need last. */
    void releaseOneAhead() {
        Slot last = null;
        for (Slot slot : slots.values()) {
            if (slot.ahead
                    && !slot.filling
                    && slot.pins == 0
                    && (last == null || slot.preallocatedId > last.preallocatedId)) {
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

    /**
     * Closes the table: detaches all mappings without a pin, once no slot is being filled. The last unpin releases each
     * of the others.
     */
    List<Closeable> close() {
        closed = true;
        List<Closeable> mappings = new ArrayList<>();
        List<Slot> each = new ArrayList<>(all()); // a copy: slots may be forgotten while this waits
        each.addAll(stale);
        stale.clear();
        for (Slot slot : each) {
            while (slot.filling) {
                changed.awaitUninterruptibly();
            }
            if (slot.pins > 0) {
                enter(slot);
            } else {
                if (slot.file.isMapped()) {
                    countLost(slot);
                }
                mappings.add(slot.file.detach());
                slots.remove(slot.key);
            }
        }
        return mappings;
    }

    /** Whether the table is closed. */
    boolean isClosed() {
        return closed;
    }
}
