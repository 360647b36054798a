package org.mmapqueue.spark.write.staging;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.mmapqueue.io.Storage;

/**
 * The directory beside the partitions, {@code .staging}, in which each write has one of its own, by the id of its
 * query. A staged file's name begins with the sequence that its rows belong to.
 *
 * <p>What lies there belongs to the process that holds the partitions open; when another one has opened them, all
 * writes of the one before it are dead.
 */
public final class StagingArea {
    /** Its name. */
    public static final String NAME = ".staging";

    private final Storage storage;
    private final Path path;

    public StagingArea(Storage storage, Path root) {
        this.storage = storage;
        this.path = root.resolve(NAME);
    }

    /** The directory of a write, there or not. */
    public Path of(String query) {
        return path.resolve(query);
    }

    /** Makes the directory of a write, durably; what is made in it later is fsynced by who makes it. */
    public Path make(String query) throws IOException {
        Path directory = of(query);
        if (!Files.isDirectory(directory)) {
            storage.createDirectories(directory);
        }
        return directory;
    }

    /** The name of a staged file, without its partition. */
    public static String fileName(long sequence, String write, int task, long attempt) {
        return sequence + "-" + write + "-" + task + "-" + attempt;
    }

    /** All manifests that there are, of whatever query: what has been begun and not ended. */
    public List<Path> manifests() throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path directory : entries(path)) {
            List<Path> own = entries(directory);
            own.removeIf(file -> !Manifest.isManifest(file));
            found.addAll(own);
        }
        return found;
    }

    /** Deletes what a query has staged up to a sequence; manifests stay. */
    public void deleteThrough(String query, long sequence) throws IOException {
        for (Path file : entries(of(query))) {
            String name = file.getFileName().toString();
            int end = name.indexOf('-');
            if (end > 0 && Long.parseLong(name.substring(0, end)) <= sequence) {
                storage.delete(file);
            }
        }
    }

    /** Deletes the directory of a write with all in it. */
    public void delete(String query) throws IOException {
        deleteAll(of(query));
    }

    /** Deletes the directories of writes that are dead and have left no manifest. */
    public void clean(Predicate<String> isAlive) throws IOException {
        for (Path directory : entries(path)) {
            if (!isAlive.test(directory.getFileName().toString())
                    && entries(directory).stream().noneMatch(Manifest::isManifest)) {
                deleteAll(directory);
            }
        }
    }

    private static List<Path> entries(Path directory) throws IOException {
        List<Path> found = new ArrayList<>();
        if (Files.isDirectory(directory)) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
                entries.forEach(found::add);
            } catch (NoSuchFileException e) {
                // gone meanwhile
            }
        }
        return found;
    }

    // A task that nobody waits for any more may still be writing there.
    private void deleteAll(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                storage.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) {
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException e) throws IOException {
                try {
                    storage.delete(visited);
                } catch (DirectoryNotEmptyException raced) {
                    // next time
                }
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
