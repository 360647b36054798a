package org.mmapqueue.swap;

import java.util.function.LongPredicate;

/**
 * Satellite's replacement policy: the order in which segments lose their mappings when the limit is reached. First the
 * read scope [reading − max, reading − 1] of each reader, upwards; then the written scope [writing − max, writing − 1],
 * downwards. The segments that the writer and the readers use are left out. Immutable.
 */
record EvictionPolicy(SlotTable slots, Scopes scopes) {

    /** Number of segments that may be mapped after an eviction, before the next one. */
    int wantedFree() {
        return Math.max(1, slots.max() / 2 - 1);
    }

    /**
     * Offers slots in eviction order, one by one.
     *
     * @param evict takes a slot's key, and returns whether enough slots are evicted
     */
    void offer(LongPredicate evict) {
        long writing = scopes.writing();
        long[] reading = scopes.reading();
        int max = slots.max();
        for (long reader : reading) {
            for (long id = reader - max; id < reader; id++) {
                if (offer(id, writing, reading, evict)) {
                    return;
                }
            }
        }
        for (long id = writing - 1; id >= writing - max; id--) {
            if (offer(id, writing, reading, evict)) {
                return;
            }
        }
    }

    private boolean offer(long id, long writing, long[] reading, LongPredicate evict) {
        long key = slots.keyOf(id);
        if (key == slots.keyOf(writing)) {
            return false;
        }
        for (long reader : reading) {
            if (key == slots.keyOf(reader)) {
                return false;
            }
        }
        return evict.test(key);
    }
}
