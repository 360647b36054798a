package org.mmapqueue.io;

/**
 * The block size of zero-filling, by file size.
 *
 * <p>The page cache makes folios as large as the writes, and one fault maps one folio. A folio of 2 MiB takes one page
 * table entry, and an fsync write-protects one entry instead of 512. A folio that spans two page tables (2 MiB each)
 * faults page by page instead, so large blocks are for files with mappings that the kernel aligns.
 */
final class FillBlock {
    /** Bytes of the largest block. */
    static final int MOST = 2 << 20;

    private static final int SMALL = 128 << 10;

    private FillBlock() {}

    /** As {@link Storage#blockSize}. */
    static int of(long size) {
        return size < MOST ? SMALL : MOST;
    }
}
