package org.mmapqueue.queue;

import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/** Temporary directories in memory, where there are such: a force costs nothing there, and tests do thousands. */
public final class QuickDirectory implements TempDirFactory {
    private static final Path MEMORY = Path.of("/dev/shm");

    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws Exception {
        return create();
    }

    /** For tests that no JUnit extension serves. */
    static Path create() throws java.io.IOException {
        return Files.isWritable(MEMORY) ? Files.createTempDirectory(MEMORY, "mmapqueue-test-")
                : Files.createTempDirectory("mmapqueue-test-");
    }
}
