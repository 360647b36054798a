package org.mmapqueue.spark.write.staging;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;

/**
 * The directory {@code .staging} beside the partitions. Each write has a subdirectory with the name of the query's id.
 * A staged file's name begins with the sequence of its rows.
 *
 * <p>The process that has the partitions open owns the directory. When another process opens them, all writes of the
 * former owner are dead.
 */
public final class StagingArea {
    /** The directory's name. */
    public static final String NAME = ".staging";

    /** The name of a staged file; other files are left alone. */
    private static final Pattern STAGED = Pattern.compile("([0-9]{1,18})-.*");

    private static final int MOST_WALKS = 10;

    private final Storage storage;
    private final Path path;

    public StagingArea(Storage storage, Path root) {
        this.storage = storage;
        this.path = root.resolve(NAME);
    }

    /** The directory of a write; it need not exist. */
    public Path of(String query) {
        return path.resolve(query);
    }

    /** Creates the directory of a write, and fsyncs it. Tasks fsync the files that they create in it. */
    public Path make(String query) throws IOException {
        Path directory = of(query);
        if (!Files.isDirectory(directory)) {
            storage.createDirectories(directory);
        }
        return directory;
    }

    /** Fsyncs the names of the directories of writes: a process that was killed may have made them and no more. */
    public void sync() throws IOException {
        storage.syncDirectory(path);
        storage.syncDirectory(path.getParent());
    }

    /** The name of a staged file, without the partition. */
    public static String fileName(long sequence, String write, int task, long attempt) {
        return sequence + "-" + write + "-" + task + "-" + attempt;
    }

    /** The manifests of all queries: writes that have begun and not ended. */
    public List<Path> manifests() throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path directory : entries(path)) {
            List<Path> own = entries(directory);
            own.removeIf(file -> !Manifest.isManifest(file));
            found.addAll(own);
        }
        return found;
    }

    /** Deletes the staged files of a query up to a sequence, except manifests. */
    public void deleteThrough(String query, long sequence) throws IOException {
        for (Path file : entries(of(query))) {
            Matcher name = STAGED.matcher(file.getFileName().toString());
            if (name.matches() && Long.parseLong(name.group(1)) <= sequence) {
                storage.delete(file);
            }
        }
    }

    /** Deletes the directory of a write recursively. */
    public void delete(String query) throws IOException {
        deleteAll(of(query));
    }

    /** Deletes the staged files and manifests of all writes. */
    public void deleteAll() throws IOException {
        deleteAll(path);
    }

    /** Deletes the directories of dead writes without a manifest. */
    public void clean(Predicate<String> isAlive) throws IOException {
        for (Path directory : entries(path)) {
            if (!isAlive.test(directory.getFileName().toString())
                    && entries(directory).stream().noneMatch(Manifest::isManifest)) {
                deleteAll(directory);
            }
        }
    }

    private static List<Path> entries(Path directory) throws IOException {
        if (Files.isDirectory(directory)) {
            try {
                return Listing.entries(directory);
            } catch (NoSuchFileException e) {
                // deleted in between
            }
        }
        return new ArrayList<>();
    }

    // A task of an aborted write may create a file as long as there is a directory. Where deleted files stay while they
    // are open (NFS), the next open of the queue deletes the rest.
    private void deleteAll(Path directory) throws IOException {
        for (int walk = 0; walk < MOST_WALKS && Files.exists(directory); walk++) {
            Files.walkFileTree(directory, new Deletion());
        }
    }

    private final class Deletion extends SimpleFileVisitor<Path> {
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
                // the next walk deletes it
            }
            return FileVisitResult.CONTINUE;
        }
    }
}
