package org.mmapqueue.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Drops the pages of files from the page cache, so that they are read from the disk. Needs no root: GNU dd
 * calls posix_fadvise(2) for each file. Mapped pages stay, so close first.
 */
final class PageCache {

    private PageCache() {}

    static void drop(Path directory) {
        try (Stream<Path> paths = Files.walk(directory)) {
            for (Path file : (Iterable<Path>) paths.filter(Files::isRegularFile)::iterator) {
                // Dirty pages stay: conv=fdatasync makes those of this file durable first.
                run("dd", "of=" + file, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).inheritIO().start();
        try {
            if (process.waitFor() != 0) {
                throw new IllegalStateException(
                        String.join(" ", command) + " ended with " + process.exitValue() + "; GNU dd is needed");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
