package org.mmapqueue.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * Temporary directories on a real disk: in build/bench of the working directory, or in -Dbench.dir. All of them are in
 * {@link #root}, the only directory that is removed.
 */
public final class BenchDirectory {
    static final String PROPERTY = "bench.dir";

    private BenchDirectory() {}

    /** The parent of {@link #root}. */
    static Path base() {
        return Path.of(System.getProperty(PROPERTY, "build/bench")).toAbsolutePath();
    }

    /** The parent of all temporary directories; removed at the end of a run. */
    public static Path root() {
        return base().resolve("mmapqueue-bench");
    }

    /** Makes a directory with a name that begins with {@code prefix}. */
    public static Path create(String prefix) {
        try {
            Files.createDirectories(root());
            return Files.createTempDirectory(root(), prefix);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns a JVM argument that limits logging to warnings: Chronicle logs each file that it maps, which would be timed.
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

    /** Removes a directory tree, if it exists. */
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
