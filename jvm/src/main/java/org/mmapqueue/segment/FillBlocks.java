package org.mmapqueue.segment;

/**
 * Chooses the size of the writes that fill a new segment file with zeros, from the sizes of recent fsyncs.
 * The page cache keeps a file in folios of the size of the writes that made them, and an fsync of a part of a folio
 * writes the whole folio. So large blocks suit large fsyncs, and small blocks suit sync pushes. One thread at a time
 * reports fsyncs; any number of threads reads the size.
 */
public final class FillBlocks {
    private static final int SMALL = 16 << 10;
    /** A small block has at most the bytes of a large one, divided by this. */
    private static final int PARTS = 8;
    /** The weight of an fsync in the average is 1 / 16. */
    private static final int WEIGHT = 16;

    private final int large;
    /** Moving average of the bytes of an fsync; starts at a large block. */
    private volatile long typical;

    /**
     * Starts with large blocks; reports of small fsyncs switch to small ones.
     *
     * @param large bytes of a large block, which the kernel maps and fsyncs as one folio
     */
    public FillBlocks(int large) {
        this.large = large;
        this.typical = large;
    }

    /** Bytes of a large block. */
    public int large() {
        return large;
    }

    /** Bytes of the blocks of the next file. */
    public int next() {
        return typical < large / 2 ? Math.min(SMALL, large / PARTS) : large;
    }

    /**
     * Reports an fsync that was requested or due by count; periodic ones are not reported.
     *
     * @param bytes pushed since the last fsync; 0 is ignored
     */
    @SuppressWarnings("NonAtomicVolatileUpdate") // a lost update changes the average little
    public void synced(long bytes) {
        if (bytes > 0) {
            typical += (bytes - typical) / WEIGHT;
        }
    }
}
