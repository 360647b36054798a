package org.mmapqueue.swap;

import java.util.function.LongPredicate;
import java.util.function.LongUnaryOperator;

/**
 * Satellite's replacement policy: in which order segments lose their mappings when the limit is reached. First the read
 * scope [reading − max, reading − 1], upwards, of each reader; then the written scope [writing − max, writing − 1],
 * downwards. The segments that writer and readers are in are left out. Has no state but its settings.
 */
final class EvictionPolicy {
    private final int max;
    private final LongUnaryOperator keys;
    private final Scopes scopes;

    /**
     * The policy.
     *
     * @param max segments that may be mapped at once
     * @param keys gives the swapper's key of a segment id; of a negative one, too, as before segment 0 of a ring comes
     *     the last slot
     */
    EvictionPolicy(int max, LongUnaryOperator keys, Scopes scopes) {
        this.max = max;
        this.keys = keys;
        this.scopes = scopes;
    }

    /** Segments that may be mapped without another eviction, after one. */
    int wantedFree() {
        return Math.max(1, max / 2 - 1);
    }

    /**
     * Offers slots, one by one.
     *
     * @param evict takes a slot's key; returns whether enough are evicted
     */
    void offer(LongPredicate evict) {
        long writing = scopes.writing();
        long[] reading = scopes.reading();
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
        long key = keys.applyAsLong(id);
        if (key == keys.applyAsLong(writing)) {
            return false;
        }
        for (long reader : reading) {
            if (key == keys.applyAsLong(reader)) {
                return false;
            }
        }
        return evict.test(key);
    }
}
