package org.mmapqueue.tool.scan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;
import java.util.function.LongConsumer;
import org.mmapqueue.segment.Geometry;

/**
 * Computes the offsets of records, and the lost records of holes.
 *
 * <p>An anchor is a position with a stored offset: a segment's header, or the end of a closed log. Records are counted
 * from one anchor to the next; the difference was lost in the holes between. A record keeps its offset if only one
 * offset is possible. If several are possible, the record counts as lost, too: an offset that was in use must never
 * refer to another record. Not thread-safe.
 */
final class Numbering {
    private record Waiting(long before, int holes, LongConsumer target) {}

    /** A hole, and the counts before it: offsets since the anchor; intact records and their bytes since the start. */
    private record Counted(Hole hole, long before, long records, long bytes) {}

    private final Geometry geometry;
    private final WalkResult found;
    private final List<Waiting> waiting = new ArrayList<>();
    private final List<Counted> holes = new ArrayList<>();
    /** Epochs by the segment in which each begins. */
    private final TreeMap<Long, Long> epochs = new TreeMap<>();
    /** The offset at the last anchor; -1 before the first one. */
    private long base;
    /** Number of records since that anchor, tombstones included. */
    private long count;

    /**
     * Starts at a position.
     *
     * @param base the offset at that position; -1 when unknown
     * @param found receives the holes, and the lost records
     */
    Numbering(long base, Geometry geometry, WalkResult found) {
        this.base = base;
        this.geometry = geometry;
        this.found = found;
    }

    void record() {
        count++;
    }

    /** Notes that an epoch begins with this segment. */
    void epoch(long segmentId, long epoch) {
        epochs.put(segmentId, epoch);
    }

    void hole(Hole hole) {
        holes.add(new Counted(hole, count, found.records, found.payloadBytes));
    }

    /** Passes the offset of the next record to a target, now or once it is known. */
    void whenKnown(LongConsumer target) {
        if (base >= 0 && holes.isEmpty()) {
            target.accept(base + count);
        } else {
            waiting.add(new Waiting(count, holes.size(), target));
        }
    }

    private List<Hole> plain() {
        return holes.stream().map(Counted::hole).toList();
    }

    /**
     * Notes that the present position is an anchor.
     *
     * @param number the stored offset
     * @return the counted offset; if it differs from {@code number}, headers contradict each other
     */
    long anchor(long number) {
        long counted = base >= 0 ? between(number) : backwards(number);
        base = number;
        count = 0;
        return counted;
    }

    /** Whether the present position can have this offset: the holes can hold the missing records. */
    boolean allows(long number) {
        return base < 0
                || HoleCounts.of(plain(), geometry, number - base - count).allow(number - base - count);
    }

    // Assigns offsets between two known anchors. Records between two holes have known offsets if only one distribution
    // of the lost records is possible.
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
            assign(from, i, upTo, true);
        }
        resolve(upTo);
        return base + count + lost;
    }

    // Assigns offsets backwards from the first known anchor. The log starts after the last hole with an unknown number
    // of lost records.
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
            assign(i, i, counts::least, true);
        }
        if (open >= 0) {
            Counted last = holes.get(open);
            long start = base + last.before + counts.least(open + 1);
            long most = Math.min(start, last.before + counts.most(open + 1));
            found.beginsAfter(holes.get(0).hole, last.hole, start, most, last.records, last.bytes);
            for (Counted each : holes.subList(1, open + 1)) {
                found.corrupt(each.hole.file, each.hole.fault);
            }
        }
        resolve(counts::least);
        return counted;
    }

    /**
     * Notes that the log ends without another anchor.
     *
     * @param end the position of the log end
     * @param cut number of counted records after the log end
     * @return the offset of the log end
     */
    long end(long end, long cut) {
        count -= cut;
        HoleCounts counts = HoleCounts.of(plain(), geometry);
        int all = holes.size();
        if (base < 0) {
            // No anchor at all: each record gets an offset that cannot have been in use.
            base = (geometry.segmentOfEnd(end) + 1) * (geometry.dataBytes() / Long.BYTES);
            for (int i = 0; i < all; i++) {
                assign(i, i, counts::most, false);
            }
            resolve(counts::most);
            return base + count + counts.most(all);
        }
        int open = counts.firstOpen();
        for (int i = 0; i < open; i++) {
            assign(i, i, counts::least, true);
        }
        long lost = counts.least(open);
        if (open < all) {
            lost += counts.most(all) - counts.most(open);
            Counted first = holes.get(open);
            long whole = found.records - first.records;
            found.giveUp(whole, found.payloadBytes - first.bytes);
            merge(
                    open,
                    all - 1,
                    geometry.segmentOfEnd(end),
                    geometry.offsetOfEnd(end),
                    first.before + base + counts.least(open),
                    lost - counts.least(open) + count - first.before,
                    false,
                    whole);
        }
        resolve(n -> n <= open ? counts.least(n) : counts.least(open) + counts.most(n) - counts.most(open));
        return base + count + lost;
    }

    // ---- lost records

    // Assigns lost records to one hole, or to a range of holes with all records between them.
    private void assign(int from, int to, IntToLongFunction upTo, boolean exact) {
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

    // Makes one hole of a range, or one for each epoch: no tombstone spans two epochs.
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
            each.target.accept(base + each.before + upTo.applyAsLong(each.holes));
        }
        waiting.clear();
        holes.clear();
    }
}
