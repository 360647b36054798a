package org.mmapqueue.tool.scan;

import java.util.List;
import org.mmapqueue.segment.Geometry;

/** The cursors that a walk locates, in the order of their positions. */
final class Probes {
    private final List<Probe> all;
    private int next;

    Probes(List<Probe> all) {
        this.all = all;
    }

    /** Notes that a record ends at this position: cursors before it resume there. */
    void pass(long position, Numbering numbers) {
        while (next < all.size() && all.get(next).position <= position) {
            Probe probe = all.get(next++);
            probe.resumePosition = position;
            numbers.whenKnown(number -> probe.resumeOffset = number);
        }
    }

    /** Moves cursors inside a hole to the next record, and cursors before the log start to the log start. */
    void leave(WalkResult walk, Geometry geometry) {
        for (Probe each : all.subList(0, next)) {
            if (each.resumePosition < walk.start) {
                each.moveTo(walk.start, walk.firstNumber);
            }
            for (Hole hole : walk.holes) {
                if (each.resumePosition > geometry.position(hole.fromId, hole.from)
                        && each.resumePosition < hole.toPosition(geometry)) {
                    each.moveTo(hole.toPosition(geometry), hole.first + hole.lost);
                }
            }
        }
    }
}
