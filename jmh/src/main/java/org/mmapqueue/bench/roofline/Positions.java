package org.mmapqueue.bench.roofline;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Where the threads of a ring are, as segment ids, each in a pair of cache lines of its own and written by one thread.
 * All of them only grow.
 */
final class Positions {
    /** The segment that the writer is in. */
    static final int WRITER = 16;
    /** The segment that the reader is in. */
    static final int READER = 32;
    /** The first segment that the reader has not let go of. */
    static final int LOW_WATERMARK = 48;
    /** The first segment that is not ready for the writer. */
    static final int PREALLOCATED = 64;
    /** The first segment that is not mapped for the reader. */
    static final int READABLE = 80;
    /** Where the next record goes, in bytes since the first segment: the one position that is no id. */
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
