package org.mmapqueue.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Temporary directories on a real disk: under build/ of the working directory, or under -Dbench.dir. */
final class BenchDirectory {
    static final String PROPERTY = "bench.dir";

    private BenchDirectory() {
    }

    static Path root() {
        return Path.of(System.getProperty(PROPERTY, "build/bench/queues")).toAbsolutePath();
    }

    static Path create(String prefix) {
        try {
            Files.createDirectories(root());
            return Files.createTempDirectory(root(), prefix);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void delete(Path directory) {
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
