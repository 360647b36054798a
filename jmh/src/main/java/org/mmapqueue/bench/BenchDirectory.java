package org.mmapqueue.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * Temporary directories on a real disk: in build/bench of the working directory, or in -Dbench.dir. All of them lie in
 * one directory of their own there, which is the only one that is ever removed.
 */
public final class BenchDirectory {
    static final String PROPERTY = "bench.dir";

    private BenchDirectory() {}

    /** Where the directory for the queues lies. */
    static Path base() {
        return Path.of(System.getProperty(PROPERTY, "build/bench")).toAbsolutePath();
    }

    /** What is removed in the end. */
    public static Path root() {
        return base().resolve("mmapqueue-bench");
    }

    /** Makes a directory whose name begins with {@code prefix}. */
    public static Path create(String prefix) {
        try {
            Files.createDirectories(root());
            return Files.createTempDirectory(root(), prefix);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A JVM's argument that lets only warnings through to the console: Chronicle tells of each file that it maps, and a
     * line on the console would be in the way of what is measured.
     */
    public static String quietLogging() {
        try {
            Files.createDirectories(root());
            return "-Djava.util.logging.config.file="
                    + Files.writeString(root().resolve("logging.properties"), ".level=WARNING\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Removes a directory with all that is in it, if it is there. */
    public static void delete(Path directory) {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> paths = Files.walk(directory)) {
            for (Path path : (Iterable<Path>) paths.sorted(Comparator.reverseOrder())::iterator) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
