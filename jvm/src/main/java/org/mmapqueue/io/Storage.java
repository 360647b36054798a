package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.Path;

/**
 * All that a queue does to a file system. {@link DiskStorage} is the real one; tests put one in its place that fails,
 * forgets or counts.
 */
public interface Storage {

    /** How a file is opened. */
    enum Mode {
        /** It exists and is only read. */
        READ,
        /** It exists and is changed. */
        WRITE,
        /** It is changed, and made when it is not there. */
        CREATE
    }

    /** Opens a file; never follows a symbolic link in the last place of the path. */
    DataFile open(Path path, Mode mode) throws IOException;

    /** In blocks of how many bytes a file of this size is best filled, to be mapped and fsynced as fast as can be. */
    default int blockSize(long size) {
        return FillBlock.of(size);
    }

    /** Makes a directory and its parents where they are not there yet, and fsyncs the entries. */
    void createDirectories(Path directory) throws IOException;

    /**
     * Deletes a file. What has it open or mapped keeps it, without a name, and the disk keeps its blocks until then.
     *
     * @return false when there is none
     */
    boolean delete(Path path) throws IOException;

    /** Fsyncs a directory's entries: files made, renamed or deleted in it are so after a loss of power, too. */
    void syncDirectory(Path directory) throws IOException;

    /** Renames a file over another one, atomically. */
    void rename(Path from, Path to) throws IOException;
}
