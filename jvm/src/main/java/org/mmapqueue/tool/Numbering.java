package org.mmapqueue.tool;

import java.util.ArrayList;
import java.util.List;

/**
 * Gives records their numbers. They are counted from one segment header to the next that says where it is; holes
 * between the two must make up the difference. Where no header comes any more, the most is taken that a hole can have
 * held: then no number that was in use is given to another record.
 */
final class Numbering {
    /** Bytes of the smallest record. */
    private static final int SMALLEST = 8;

    /** Is told its number when it is known. */
    interface Numbered {
        void number(long number);
    }

    private record Waiting(long before, int holes, Numbered who) {
    }

    private final int dataBytes;
    private final List<Waiting> waiting = new ArrayList<>();
    private final List<Hole> holes = new ArrayList<>();
    /** The number at the last place that is known; -1 while none is. */
    private long base;
    /** Whole records since then. */
    private long count;

    /**
     * Begins at a place.
     *
     * @param base its number; -1 when it is not known
     * @param dataBytes of a segment
     */
    Numbering(long base, int dataBytes) {
        this.base = base;
        this.dataBytes = dataBytes;
    }

    void record() {
        count++;
    }

    void hole(Hole hole) {
        who(number -> hole.first = number);
        holes.add(hole);
    }

    /** Tells the number of the record that comes next, sooner or later. */
    void who(Numbered who) {
        if (base >= 0 && holes.isEmpty()) {
            who.number(base + count);
        } else {
            waiting.add(new Waiting(count, holes.size(), who));
        }
    }

    /**
     * A header says the number of this place.
     *
     * @return the number that was counted; another one than {@code number} is a contradiction
     */
    long anchor(long number) {
        long lost = 0;
        if (base < 0) {
            holes.forEach(Numbering::guess);
            lost = holes.stream().mapToLong(each -> each.lost).sum();
            base = Math.max(0, number - count - lost);
        } else if (!holes.isEmpty()) {
            lost = number - base - count;
            distribute(lost);
        }
        long counted = base + count + holes.stream().mapToLong(each -> each.lost).sum();
        resolve();
        base = number;
        count = 0;
        return counted;
    }

    /** Nothing comes any more. Returns the number behind the last record. */
    long end(long mostBefore) {
        if (base < 0) {
            base = mostBefore;
        }
        for (Hole hole : holes) {
            guess(hole);
            if (hole.chained == 0) {
                long bytes = (hole.toId - hole.fromId) * dataBytes + hole.to - hole.from;
                hole.lost = Math.max(1, bytes / SMALLEST);
                hole.exact = false;
            }
        }
        long number = base + count + holes.stream().mapToLong(each -> each.lost).sum();
        resolve();
        base = number;
        count = 0;
        return number;
    }

    private static void guess(Hole hole) {
        hole.lost = Math.max(1, hole.chained);
        hole.exact = hole.chained > 0;
    }

    private void distribute(long lost) {
        if (holes.size() == 1) {
            holes.get(0).lost = Math.max(0, lost);
            holes.get(0).exact = true;
            return;
        }
        holes.forEach(Numbering::guess);
        long rest = lost - holes.stream().mapToLong(each -> each.lost).sum();
        if (rest != 0) {
            Hole vague = holes.stream().filter(each -> each.chained == 0).findFirst().orElse(holes.get(0));
            boolean only = holes.stream().filter(each -> each.chained == 0).count() == 1;
            vague.lost = Math.max(0, vague.lost + rest);
            vague.exact = only;
            if (!only) {
                holes.forEach(each -> each.exact = false);
            }
        } else {
            holes.forEach(each -> each.exact = true);
        }
    }

    private void resolve() {
        for (Waiting each : waiting) {
            long lost = holes.subList(0, each.holes).stream().mapToLong(hole -> hole.lost).sum();
            each.who.number(base + each.before + lost);
        }
        waiting.clear();
        holes.clear();
    }
}
