package org.mmapqueue.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Temporary directories in memory if the system has them: tests do thousands of fsyncs, which cost nothing there. With
 * -Dtest.memory=none they are on the disk.
 */
public final class QuickDirectory implements TempDirFactory {
    private static final Path MEMORY = Path.of(System.getProperty("test.memory", "/dev/shm"));

    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws Exception {
        return create();
    }

    /** For tests that no JUnit extension serves. */
    public static Path create() throws IOException {
        return Files.isWritable(MEMORY)
                ? Files.createTempDirectory(MEMORY, "mmapqueue-test-")
                : Files.createTempDirectory("mmapqueue-test-");
    }
}
