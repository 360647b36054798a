package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.Path;
import java.util.SortedMap;

/**
 * All operations of a queue on a file system. {@link DiskStorage} is the real one; tests use others that fail, lose
 * power or count.
 */
public interface Storage {

    /** How a file is opened. */
    enum Mode {
        /** The file exists, and is only read. */
        READ,
        /** The file exists, and is changed. */
        WRITE,
        /** The file is changed, and created when missing. */
        CREATE
    }

    /** Opens a file; does not follow a symbolic link in the last part of the path. */
    DataFile open(Path path, Mode mode) throws IOException;

    /** Bytes of the largest block of zero-filling. */
    int LARGEST_BLOCK = 2 << 20;

    /**
     * The block size, in bytes, for zero-filling a file of this size such that mapping and fsync are fastest.
     *
     * <p>The page cache makes folios as large as the writes, and one fault maps one folio. A folio of 2 MiB takes one
     * page table entry, and an fsync write-protects one entry instead of 512. A folio that spans two page tables (2 MiB
     * each) faults page by page instead, so large blocks are for files with mappings that the kernel aligns.
     */
    default int blockSize(long size) {
        return size < LARGEST_BLOCK ? 128 << 10 : LARGEST_BLOCK;
    }

    /**
     * Fails if the queue that uses this storage is not at its path any more; called before a change of files that does
     * not go through this storage.
     */
    default void checkPlace() throws IOException {}

    /** As {@link Listing#inside}. */
    default SortedMap<String, Path> list(Path directory, String suffix) throws IOException {
        return Listing.inside(directory, suffix);
    }

    /** The boot of no machine. */
    long UNKNOWN_BOOT = 0;

    /**
     * Identifies the time since the machine has started: while it is the same, all bytes that any process has stored are
     * still there, durable or not. {@link #UNKNOWN_BOOT} if that cannot be known.
     */
    default long boot() {
        return UNKNOWN_BOOT;
    }

    /** Whether two boots are known to be the same. */
    static boolean isSame(long boot, long other) {
        return boot != UNKNOWN_BOOT && boot == other;
    }

    /** Creates a directory and its missing parents, and fsyncs their entries. */
    void createDirectories(Path directory) throws IOException;

    /**
     * Deletes a file. Its blocks are released once no process has it open or mapped.
     *
     * @return false when it does not exist
     */
    boolean delete(Path path) throws IOException;

    /** Fsyncs a directory: makes new, renamed and deleted entries durable. */
    void syncDirectory(Path directory) throws IOException;

    /** Renames a file over another file, atomically. */
    void rename(Path from, Path to) throws IOException;

    /**
     * Deletes a file that could not be completed. A failure of that is suppressed by the first one.
     *
     * @param unfinished the file, which may not exist
     * @param failure why it could not be completed
     */
    default void discard(Path unfinished, Exception failure) {
        try {
            delete(unfinished);
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
    }
}
