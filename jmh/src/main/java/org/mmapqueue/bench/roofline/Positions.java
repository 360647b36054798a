package org.mmapqueue.bench.roofline;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Positions of a ring's threads, as segment ids. Each is written by one thread, has a pair of cache lines of its own, and
 * only grows.
 */
final class Positions {
    /** The writer's segment. */
    static final int WRITER = 16;
    /** The reader's segment. */
    static final int READER = 32;
    /** The first segment that the reader has not acked. */
    static final int LOW_WATERMARK = 48;
    /** The first segment that is not preallocated. */
    static final int PREALLOCATED = 64;
    /** The first segment that is not mapped for the reader. */
    static final int READABLE = 80;
    /** The log end in bytes: the only one that is no segment id. */
    static final int WRITTEN = 96;

    private static final int LENGTH = 112;

    private final AtomicLongArray values = new AtomicLongArray(LENGTH);

    long get(int which) {
        return values.getAcquire(which);
    }

    void set(int which, long id) {
        values.setRelease(which, id);
    }
}
