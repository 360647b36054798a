package org.mmapqueue.archive.files;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.List;

/**
 * The files of an archive. Names are relative to the archive, with parts separated by {@code /}. Files are immutable,
 * except that {@link #replace} exchanges a file as a whole; readers see a whole file or none. A file is durable, by its
 * name, when {@link #create}, {@link #replace} or {@link #makeDurable} returns; a deletion may be undone by a loss of
 * power.
 *
 * <p>Only {@link #createRoot} makes the archive's directory: while it does not exist, as below the mount point of a
 * file system that is not mounted, create and replace throw {@link java.nio.file.NoSuchFileException}. An object store
 * has no such directory.
 *
 * <p>After an IOException of {@link #create}, {@link #replace} or {@link #delete}, the change may or may not have
 * happened, and may not be durable: repeat the call. Safe for any number of threads and processes at once.
 */
public interface ArchiveFiles extends AutoCloseable {
    /** The directory of unfinished files, which {@link #create} and {@link #replace} use; a kill leaves files there. */
    String TEMPORARY = ".tmp";

    /**
     * A file in a directory.
     *
     * @param name the last part of the file's name
     * @param length the file's length in bytes
     * @param modifiedMillis time at which it was stored, in ms since 1970, by the clock of the file system
     */
    record Entry(String name, long length, long modifiedMillis) {}

    /** Writes the content of a file. It may be called more than once, each time for the whole content. */
    @FunctionalInterface
    interface Content {
        /** Writes all bytes; need not flush or close. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** An open file. Not thread-safe. */
    interface Input extends AutoCloseable {
        /** The length of the file in bytes. */
        long length();

        /** Reads bytes; throws EOFException if the file is shorter than {@code position + length}. */
        void readFully(long position, byte[] into, int from, int length) throws IOException;

        /** The number of bytes that a reader of the whole file should read at once: more is not faster. */
        default int bytesAtOnce() {
            return 4 << 20;
        }

        @Override
        void close() throws IOException;
    }

    /** The archive's directory, absolute, with a slash at the end. */
    URI uri();

    /** The files of a directory, sorted by name; empty if the directory does not exist. */
    List<Entry> list(String directory) throws IOException;

    /**
     * The last parts of the names of a directory's files, sorted; empty if the directory does not exist. Subdirectories
     * may be among them. Cheaper than {@link #list} where the file system looks at each file for its length and time.
     */
    default List<String> names(String directory) throws IOException {
        return list(directory).stream().map(Entry::name).toList();
    }

    /** The last parts of the names of a directory's subdirectories, sorted; empty if the directory does not exist. */
    List<String> directories(String directory) throws IOException;

    /** Opens a file; throws {@link java.nio.file.NoSuchFileException} if it does not exist. */
    Input open(String name) throws IOException;

    /** Creates the archive's directory and its missing parents, durably; does nothing if it exists. */
    void createRoot() throws IOException;

    /**
     * Stores a new file, and creates missing directories below that of the archive.
     *
     * @return whether this call has stored it; false if a file of this name exists, which is durable then, too
     */
    boolean create(String name, Content content) throws IOException;

    /**
     * Whether a file may still appear after its {@link #create} has failed, or its process was killed: the store may have
     * the request. Elsewhere a file appears at once, or never if what it leaves below {@link #TEMPORARY} is deleted.
     */
    default boolean createsLate() {
        return false;
    }

    /** Stores a file, replacing the file of this name if one exists. */
    void replace(String name, byte[] content) throws IOException;

    /**
     * Makes a file that exists durable by its name: the call that has stored it may have failed, in any process.
     *
     * @throws java.nio.file.NoSuchFileException if it does not exist
     */
    void makeDurable(String name) throws IOException;

    /** Deletes a file; returns false if it does not exist. */
    boolean delete(String name) throws IOException;

    /** Deletes a directory if it is empty; returns whether it did. */
    boolean deleteDirectory(String directory) throws IOException;

    /** The names of the hosts that hold a part of a file, most bytes first; empty for no preference. */
    List<String> hosts(String name, long position, long length) throws IOException;

    /** Releases the resources of this object; open files of other objects stay usable. */
    @Override
    void close();
}
