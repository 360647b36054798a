package org.mmapqueue.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * Writes a file atomically: writes a temporary file beside it, and renames that one. A failure deletes the temporary file: the
 * disk may be full. A symbolic link in its place is refused, and stays.
 */
public final class NewFile {
    /** The suffix of the temporary file. A crash may leave it; the next write replaces it. */
    private static final String SUFFIX = ".new";

    /** What is written. */
    public interface Content {
        /** Writes into an empty file. */
        void write(DataFile file) throws IOException;
    }

    private NewFile() {}

    /** Writes a small file, durably. */
    public static void write(Storage storage, Path path, ByteBuffer content) throws IOException {
        write(storage, path, true, file -> file.write(content, 0));
        storage.syncDirectory(path.getParent());
    }

    /**
     * Writes a file. Its name is durable once the caller has fsynced the directory.
     *
     * @param force whether to fsync the file before it gets its name
     */
    public static void write(Storage storage, Path path, boolean force, Content content) throws IOException {
        Path aside = path.resolveSibling(path.getFileName() + SUFFIX);
        DataFile file = storage.open(aside, Storage.Mode.CREATE); // a link of this name is refused, and stays
        try {
            if (!fill(file, force, content)) {
                storage.delete(aside);
                fill(storage.open(aside, Storage.Mode.CREATE), force, content);
            }
            storage.rename(aside, path);
        } catch (IOException | RuntimeException e) {
            storage.discard(aside, e);
            throw e;
        }
    }

    // Writes and closes a file; returns false if it is not empty, because a crash has left it.
    private static boolean fill(DataFile file, boolean force, Content content) throws IOException {
        try (file) {
            if (file.size() > 0) {
                return false;
            }
            content.write(file);
            if (force) {
                file.force();
            }
            return true;
        }
    }
}
