package org.mmapqueue.tool.scan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;
import org.mmapqueue.segment.Geometry;

/**
 * Gives records their offsets, and holes the records that were lost in them. Records are counted from one place whose
 * offset is stored (an anchor: a segment's header, the end of a closed log) to the next; what is missing was lost in
 * the holes between. A record keeps its offset if only one offset fits; where several do, the record counts as lost,
 * too: no offset that was in use ever means another record. Not thread-safe.
 */
final class Numbering {
    /** Gets an offset when it is known. */
    interface Numbered {
        void number(long number);
    }

    private record Waiting(long before, int holes, Numbered who) {}

    /** A hole, and what had been counted before it: offsets since the anchor, whole records and their bytes in all. */
    private record Counted(Hole hole, long before, long records, long bytes) {}

    private final Geometry geometry;
    private final WalkResult found;
    private final List<Waiting> waiting = new ArrayList<>();
    private final List<Counted> holes = new ArrayList<>();
    /** Epochs by the segment in which each begins. */
    private final TreeMap<Long, Long> epochs = new TreeMap<>();
    /** The offset at the last anchor; -1 before the first one. */
    private long base;
    /** Records since then, tombstones included. */
    private long count;

    /**
     * Begins at a place.
     *
     * @param base its offset; -1 when it is not known
     * @param found gets the holes, and what was lost
     */
    Numbering(long base, Geometry geometry, WalkResult found) {
        this.base = base;
        this.geometry = geometry;
        this.found = found;
    }

    void record() {
        count++;
    }

    /** From this segment on, the log is of this epoch. */
    void epoch(long segmentId, long epoch) {
        epochs.put(segmentId, epoch);
    }

    void hole(Hole hole) {
        holes.add(new Counted(hole, count, found.records, found.payloadBytes));
    }

    /** Passes on the offset of the record that comes next, sooner or later. */
    void who(Numbered who) {
        if (base >= 0 && holes.isEmpty()) {
            who.number(base + count);
        } else {
            waiting.add(new Waiting(count, holes.size(), who));
        }
    }

    private List<Hole> plain() {
        return holes.stream().map(Counted::hole).toList();
    }

    /**
     * An anchor says the offset of this place.
     *
     * @return the offset that was counted; another one than {@code number} is a contradiction
     */
    long anchor(long number) {
        long counted = base >= 0 ? between(number) : backwards(number);
        base = number;
        count = 0;
        return counted;
    }

    /** Whether an anchor may say this offset of this place: as many records may have been lost. */
    boolean allows(long number) {
        return base < 0
                || HoleCounts.of(plain(), geometry, number - base - count).allow(number - base - count);
    }

    // Both sides are known: so are records between two holes if only one split of what was lost fits.
    private long between(long number) {
        long missing = number - base - count;
        HoleCounts counts = HoleCounts.of(plain(), geometry, missing);
        long lost = counts.nearest(missing);
        IntToLongFunction upTo = n -> counts.least(n, lost);
        for (int i = 0; i < holes.size(); i++) {
            int from = i;
            while (!counts.isKnown(i + 1, lost)) {
                i++;
            }
            settle(from, i, upTo, true);
        }
        resolve(upTo);
        return base + count + lost;
    }

    // Only the far side is known: the log begins behind the last hole that leaves it open how many were lost in it.
    private long backwards(long number) {
        HoleCounts counts = HoleCounts.of(plain(), geometry);
        int all = holes.size();
        long counted = number;
        base = number - count - counts.least(all);
        if (base < 0) {
            base = 0;
            counted = count + counts.least(all);
        }
        int open = counts.lastOpen();
        for (int i = open + 1; i < all; i++) {
            settle(i, i, counts::least, true);
        }
        if (open >= 0) {
            Counted last = holes.get(open);
            long start = base + last.before + counts.least(open + 1);
            long most = Math.min(start, last.before + counts.most(open + 1));
            found.beginsBehind(holes.get(0).hole, last.hole, start, most, last.records, last.bytes);
            for (Counted each : holes.subList(1, open + 1)) {
                found.corrupt(each.hole.file, each.hole.fault);
            }
        }
        resolve(counts::least);
        return counted;
    }

    /**
     * No anchor comes any more, and the log ends here.
     *
     * @param end its position
     * @param cut records that were counted and are behind it
     * @return the offset behind the last record
     */
    long end(long end, long cut) {
        count -= cut;
        HoleCounts counts = HoleCounts.of(plain(), geometry);
        int all = holes.size();
        if (base < 0) {
            // Nothing says an offset: each record gets one that was never in use.
            base = (geometry.segmentOfEnd(end) + 1) * (geometry.dataBytes() / Long.BYTES);
            for (int i = 0; i < all; i++) {
                settle(i, i, counts::most, false);
            }
            resolve(counts::most);
            return base + count + counts.most(all);
        }
        int open = counts.firstOpen();
        for (int i = 0; i < open; i++) {
            settle(i, i, counts::least, true);
        }
        long lost = counts.least(open);
        if (open < all) {
            lost += counts.most(all) - counts.most(open);
            Counted first = holes.get(open);
            giveUp(
                    open,
                    all - 1,
                    geometry.segmentOfEnd(end),
                    geometry.offsetOfEnd(end),
                    first.before + base + counts.least(open),
                    lost - counts.least(open) + count - first.before,
                    false);
        }
        resolve(n -> n <= open ? counts.least(n) : counts.least(open) + counts.most(n) - counts.most(open));
        return base + count + lost;
    }

    // ---- what was lost

    // The holes from one to another, with all that is between them when they are not the same.
    private void settle(int from, int to, IntToLongFunction upTo, boolean exact) {
        Counted first = holes.get(from);
        Counted last = holes.get(to);
        long number = base + first.before + upTo.applyAsLong(from);
        long lost = upTo.applyAsLong(to + 1) - upTo.applyAsLong(from) + last.before - first.before;
        if (from < to) {
            found.giveUp(last.records - first.records, last.bytes - first.bytes);
            merge(from, to, last.hole.toId, last.hole.to, number, lost, exact, last.records - first.records);
        } else {
            first.hole.first = number;
            first.hole.lost = lost;
            found.holes.add(first.hole);
            found.lost(first.hole, number, lost, exact, 0);
        }
    }

    private void giveUp(int from, int to, long toId, int toOffset, long number, long lost, boolean exact) {
        Counted first = holes.get(from);
        long records = found.records - first.records;
        found.giveUp(records, found.payloadBytes - first.bytes);
        merge(from, to, toId, toOffset, number, lost, exact, records);
    }

    // One hole for all of a range, or one for each epoch: no tombstone leads from one epoch into another.
    private void merge(int from, int to, long toId, int toOffset, long number, long lost, boolean exact, long whole) {
        Hole first = holes.get(from).hole;
        for (Counted each : holes.subList(from + 1, to + 1)) {
            found.corrupt(each.hole.file, each.hole.fault);
        }
        List<Hole> parts = new ArrayList<>();
        long id = first.fromId;
        int offset = first.from;
        long epoch = first.epoch;
        boolean nothing = toOffset == geometry.dataStart();
        for (Map.Entry<Long, Long> each :
                epochs.subMap(first.fromId, false, toId, !nothing).entrySet()) {
            if (each.getValue() != epoch) {
                parts.add(new Hole(
                        id, offset, each.getKey() - 1, geometry.segmentSize(), epoch, false, first.file, first.fault));
                id = each.getKey();
                offset = geometry.dataStart();
                epoch = each.getValue();
            }
        }
        parts.add(new Hole(id, offset, toId, toOffset, epoch, false, first.file, first.fault));
        HoleCounts counts = HoleCounts.of(parts, geometry, lost);
        for (int i = 0; i < parts.size(); i++) {
            Hole part = parts.get(i);
            part.first = number + counts.least(i, lost);
            part.lost = counts.least(i + 1, lost) - counts.least(i, lost);
            found.holes.add(part);
        }
        found.lost(first, number, lost, exact, whole);
    }

    private void resolve(IntToLongFunction upTo) {
        for (Waiting each : waiting) {
            each.who.number(base + each.before + upTo.applyAsLong(each.holes));
        }
        waiting.clear();
        holes.clear();
    }
}
