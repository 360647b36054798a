package org.mmapqueue.segment;

/**
 * In blocks of how many bytes segment files are filled with zeros. Where the page cache keeps a file in folios as large
 * as the writes that brought them in, an fsync of a part of one writes all of it: large blocks are good for fsyncs of
 * much, and small ones for durable pushes. One thread at a time tells what is fsynced; any number asks.
 */
public final class FillBlocks {
    private static final int SMALL = 16 << 10;
    /** A small block is a large one divided by this, or less. */
    private static final int PARTS = 8;
    /** An fsync counts as one of so many. */
    private static final int WEIGHT = 16;

    private final int large;
    /** Bytes that are fsynced at a time: a moving average, which begins large. */
    private volatile long typical;

    /**
     * Large ones, until fsyncs of little have been told.
     *
     * @param large bytes of a large block; the kernel maps and fsyncs that much of a file at once
     */
    public FillBlocks(int large) {
        this.large = large;
        this.typical = large;
    }

    /** Bytes of a large block. */
    public int large() {
        return large;
    }

    /** Bytes of the blocks that a file is to be filled in now. */
    public int next() {
        return typical < large / 2 ? Math.min(SMALL, large / PARTS) : large;
    }

    /**
     * Records are about to be fsynced because somebody waits for it, or because there are many.
     *
     * @param bytes how many have been pushed since the last time; 0 tells nothing
     */
    @SuppressWarnings("NonAtomicVolatileUpdate") // a mean: an update that is lost changes little
    public void synced(long bytes) {
        if (bytes > 0) {
            typical += (bytes - typical) / WEIGHT;
        }
    }
}
