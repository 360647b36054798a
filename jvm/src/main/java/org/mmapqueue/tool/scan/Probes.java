package org.mmapqueue.tool.scan;

import java.util.List;
import org.mmapqueue.segment.Geometry;

/** The cursors that a walk is to find in the log, in the order of their positions. */
final class Probes {
    private final List<Probe> all;
    private int next;

    Probes(List<Probe> all) {
        this.all = all;
    }

    /** A record ends at this position: cursors up to here belong here. */
    void pass(long position, Numbering numbers) {
        while (next < all.size() && all.get(next).position <= position) {
            Probe probe = all.get(next++);
            probe.place = position;
            numbers.who(number -> probe.number = number);
        }
    }

    /** Cursors that were found among lost records move to the first record behind, or to where the log begins. */
    void leave(WalkResult walk, Geometry geometry) {
        for (Probe each : all.subList(0, next)) {
            if (each.place < walk.start) {
                each.moveTo(walk.start, walk.firstNumber);
            }
            for (Hole hole : walk.holes) {
                if (each.place > geometry.position(hole.fromId, hole.from) && each.place < hole.toPosition(geometry)) {
                    each.moveTo(hole.toPosition(geometry), hole.first + hole.lost);
                }
            }
        }
    }
}
