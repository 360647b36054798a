package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/**
 * Writes a small file atomically: writes a temporary file, fsyncs and renames it, and fsyncs the directory entry. A failure
 * deletes the temporary file: the disk may be full.
 */
final class NewFile {
    /** The suffix of the temporary file. A crash may leave it; the next write overwrites it. */
    static final String SUFFIX = ".new";

    private NewFile() {}

    static void write(Storage storage, Path path, ByteBuffer content) throws IOException {
        Path aside = path.resolveSibling(path.getFileName() + SUFFIX);
        DataFile file = storage.open(aside, Storage.Mode.CREATE); // a link of this name is refused, and stays
        try {
            try (file) {
                file.write(content, 0);
                file.force();
            }
            storage.rename(aside, path);
        } catch (IOException | RuntimeException e) {
            storage.discard(aside, e);
            throw e;
        }
        storage.syncDirectory(path.getParent());
    }
}
