package org.mmapqueue.segment;

/**
 * The block size with which segment files are filled with zeros. The page cache keeps a file in folios as large as the
 * writes that made them, and an fsync of a part of a folio writes all of it: large blocks are good for large fsyncs,
 * small ones for sync pushes. One thread at a time reports fsyncs; any number of threads reads the size.
 */
public final class FillBlocks {
    private static final int SMALL = 16 << 10;
    /** A small block is a large one divided by this, or less. */
    private static final int PARTS = 8;
    /** The weight of an fsync in the average is 1 / 16. */
    private static final int WEIGHT = 16;

    private final int large;
    /** Bytes of an fsync: a moving average, which begins with a large block. */
    private volatile long typical;

    /**
     * Large blocks, until small fsyncs are reported.
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
     * Reports an fsync on request or by count.
     *
     * @param bytes pushed since the last fsync; 0 is ignored
     */
    @SuppressWarnings("NonAtomicVolatileUpdate") // a mean: an update that is lost changes little
    public void synced(long bytes) {
        if (bytes > 0) {
            typical += (bytes - typical) / WEIGHT;
        }
    }
}
