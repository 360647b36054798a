package org.mmapqueue.spark.common;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The directory of a partition. A queue with one partition is a queue directory itself; several partitions are its
 * subdirectories {@code p=0}, {@code p=1}, …, each a complete queue.
 *
 * @param id the partition's number: 0, 1, 2, …
 * @param path the directory, as text, because a Path is not serializable
 */
public record PartitionDirectory(int id, String path) implements Serializable {
    private static final String META_FILE = "meta.dat";
    private static final String PREFIX = "p=";
    private static final Pattern NAME = Pattern.compile(PREFIX + "(0|[1-9][0-9]{0,8})");

    /**
     * Whether a directory is a queue.
     *
     * @param root the queue's directory
     * @return true for a partition, and for a directory of partitions
     */
    public static boolean isQueue(Path root) {
        return Files.exists(root.resolve(META_FILE)) || !numbered(root).isEmpty();
    }

    /**
     * The existing partitions. Their numbers have gaps if a directory was deleted, or if each program makes its own and
     * one has not started yet.
     *
     * @param root the queue's directory
     * @return the partitions, by number
     * @throws IllegalArgumentException if the directory holds no queue
     */
    public static List<PartitionDirectory> find(Path root) {
        if (Files.exists(root.resolve(META_FILE))) {
            return List.of(new PartitionDirectory(0, root.toString()));
        }
        List<PartitionDirectory> found = numbered(root);
        if (found.isEmpty()) {
            throw Options.bad(
                    Options.PATH,
                    root.toString(),
                    "the directory of a queue; " + whyNone(root) + " on host " + Hosts.own());
        }
        return found;
    }

    private static List<PartitionDirectory> numbered(Path root) {
        try (Stream<Path> entries = Files.list(root)) {
            return entries.map(each -> NAME.matcher(each.getFileName().toString()))
                    .filter(Matcher::matches)
                    .map(each -> of(root, Integer.parseInt(each.group(1))))
                    .filter(each -> Files.exists(each.directory().resolve(META_FILE)))
                    .sorted(Comparator.comparingInt(PartitionDirectory::id))
                    .toList();
        } catch (NoSuchFileException | NotDirectoryException | AccessDeniedException e) {
            return List.of();
        } catch (IOException e) {
            throw unreadable(root, e);
        }
    }

    private static String whyNone(Path root) {
        if (Files.isDirectory(root)) {
            return "it holds no queue";
        }
        return Files.exists(root) ? "it is a file" : "it does not exist";
    }

    /**
     * The directory of a partition of a queue with several, existing or not.
     *
     * @param root the queue's directory
     * @param id the partition's number
     * @return the directory
     */
    public static PartitionDirectory of(Path root, int id) {
        return new PartitionDirectory(id, root.resolve(PREFIX + id).toString());
    }

    /**
     * The directory.
     *
     * @return the directory as a path of this host
     */
    public Path directory() {
        return Path.of(path);
    }

    /**
     * Resolves links in a directory's path, so that all its spellings have one result.
     *
     * @param root an existing directory
     * @return the directory's real path
     */
    public static Path real(Path root) {
        try {
            return root.toRealPath();
        } catch (IOException e) {
            throw unreadable(root, e);
        }
    }

    private static UncheckedIOException unreadable(Path root, IOException cause) {
        return new UncheckedIOException("the directory " + root + " cannot be read: " + cause, cause);
    }
}
