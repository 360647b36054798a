package org.mmapqueue.io;

/**
 * In which blocks a file is filled with zeros, and so in which ones the kernel maps and fsyncs it.
 *
 * <p>The page cache makes folios as large as the write that brings them in, and one fault maps one folio. One of 2 MiB
 * is mapped by a single entry, and an fsync has one entry to protect instead of 512. A folio that straddles two page
 * tables (2 MiB each) faults page by page instead, so large blocks are for files whose mappings the kernel aligns.
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
