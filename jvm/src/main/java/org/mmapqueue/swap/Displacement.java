package org.mmapqueue.swap;

import java.util.function.IntPredicate;

import org.mmapqueue.segment.Geometry;

/**
 * Satellite's replacement policy: in which order ring slots lose their mappings when the limit is reached. First the
 * read scope [reading − max, reading − 1], upwards, of each reader; then the written scope [writing − max, writing − 1],
 * downwards. The segments that writer and readers are in are left out. Has no state but its settings.
 */
final class Displacement {
    private final Geometry geometry;
    private final int max;
    private final Scopes scopes;

    Displacement(Geometry geometry, int max, Scopes scopes) {
        this.geometry = geometry;
        this.max = max;
        this.scopes = scopes;
    }

    /** How many places should be free after a displacement. */
    int wantedPlaces() {
        return Math.max(1, max / 2 - 1);
    }

    /**
     * Offers slots, one by one.
     *
     * @param displace takes a slot's number; says whether enough places are free now
     */
    void offer(IntPredicate displace) {
        long writing = scopes.writing();
        long[] reading = scopes.reading();
        for (long reader : reading) {
            for (long id = reader - max; id < reader; id++) {
                if (offer(id, writing, reading, displace)) {
                    return;
                }
            }
        }
        for (long id = writing - 1; id >= writing - max; id--) {
            if (offer(id, writing, reading, displace)) {
                return;
            }
        }
    }

    private boolean offer(long id, long writing, long[] reading, IntPredicate displace) {
        // As in a ring: before segment 0 comes the last slot.
        int slot = (int) Math.floorMod(id, (long) geometry.capacity());
        if (slot == geometry.slotOf(writing)) {
            return false;
        }
        for (long reader : reading) {
            if (slot == geometry.slotOf(reader)) {
                return false;
            }
        }
        return displace.test(slot);
    }
}
