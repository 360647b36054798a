package org.mmapqueue.harness;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.mmapqueue.support.Directories;

/** Directories of queues that exist only during one run. For one thread. */
public final class TempQueues implements Closeable {
    private final Path root;
    private int made;

    /** Takes a directory, which {@link #close} deletes with everything in it. */
    public TempQueues(Path root) {
        this.root = root;
    }

    /** A new directory, empty. */
    public Path directory() throws IOException {
        return Files.createDirectory(root.resolve("q" + made++));
    }

    @Override
    public void close() {
        Directories.delete(root);
    }
}
