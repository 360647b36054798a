package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.Path;

/**
 * All operations of a queue on a file system. {@link DiskStorage} is the real one; tests use others that fail, lose
 * power or count.
 */
public interface Storage {

    /** How a file is opened. */
    enum Mode {
        /** It exists and is only read. */
        READ,
        /** It exists and is changed. */
        WRITE,
        /** It is changed, and made when it is missing. */
        CREATE
    }

    /** Opens a file; does not follow a symbolic link in the last part of the path. */
    DataFile open(Path path, Mode mode) throws IOException;

    /** The best block size for zero-filling a file of this size, in bytes: mapping and fsync are fastest. */
    default int blockSize(long size) {
        return FillBlock.of(size);
    }

    /** Makes a directory and its missing parents, and fsyncs the entries. */
    void createDirectories(Path directory) throws IOException;

    /**
     * Deletes a file. Its blocks are freed when no process has it open or mapped any more.
     *
     * @return false when it does not exist
     */
    boolean delete(Path path) throws IOException;

    /** Fsyncs a directory: new, renamed and deleted entries are durable. */
    void syncDirectory(Path directory) throws IOException;

    /** Renames a file over another one, atomically. */
    void rename(Path from, Path to) throws IOException;
}
