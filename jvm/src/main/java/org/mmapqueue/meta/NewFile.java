package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/** Makes a small file that appears whole or not at all: written aside, fsynced, renamed, and its entry fsynced. */
final class NewFile {
    /** What is appended to the name while the file is not whole; left behind by a crash, overwritten by the next try. */
    static final String SUFFIX = ".new";

    private NewFile() {}

    static void write(Storage storage, Path path, ByteBuffer content) throws IOException {
        Path aside = path.resolveSibling(path.getFileName() + SUFFIX);
        try (DataFile file = storage.open(aside, Storage.Mode.CREATE)) {
            file.write(content, 0);
            file.force();
        }
        storage.rename(aside, path);
        storage.syncDirectory(path.getParent());
    }
}
