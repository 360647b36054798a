package org.mmapqueue.spark.common;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Where a partition lies. A queue with one partition is a directory that holds it; one with several is a directory of
 * {@code p=0}, {@code p=1}, …, each a queue of its own.
 *
 * @param id 0, 1, 2, …
 * @param path the directory, as text: a Path does not go over the wire
 */
public record PartitionDirectory(int id, String path) implements Serializable {
    private static final String META_FILE = "meta.dat";
    private static final String PREFIX = "p=";

    /**
     * Whether there is a queue.
     *
     * @param root the directory that was named
     * @return whether it is a queue, or holds partitions
     */
    public static boolean isQueue(Path root) {
        return Files.exists(root.resolve(META_FILE))
                || Files.exists(of(root, 0).directory().resolve(META_FILE));
    }

    /**
     * The partitions that are there.
     *
     * @param root the directory that was named
     * @return in the order of their numbers
     * @throws IllegalArgumentException when there is no queue
     */
    public static List<PartitionDirectory> find(Path root) {
        if (Files.exists(root.resolve(META_FILE))) {
            return List.of(new PartitionDirectory(0, root.toString()));
        }
        List<PartitionDirectory> found = new ArrayList<>();
        for (int id = 0; Files.exists(of(root, id).directory().resolve(META_FILE)); id++) {
            found.add(of(root, id));
        }
        if (found.isEmpty()) {
            throw Options.bad(
                    Options.PATH,
                    root.toString(),
                    "the directory of a queue; there is none" + (Files.isDirectory(root) ? "" : ", nor a directory")
                            + " on host " + Hosts.own());
        }
        return found;
    }

    /**
     * A partition of a queue that has several, there or not.
     *
     * @param root the directory that was named
     * @param id its number
     * @return where it lies
     */
    public static PartitionDirectory of(Path root, int id) {
        return new PartitionDirectory(id, root.resolve(PREFIX + id).toString());
    }

    /**
     * The directory.
     *
     * @return as a path of this host
     */
    public Path directory() {
        return Path.of(path);
    }

    /**
     * The directory without links in its path, which is one for all that name it.
     *
     * @param root a directory that is there
     * @return its real path
     */
    public static Path real(Path root) {
        try {
            return root.toRealPath();
        } catch (IOException e) {
            throw new UncheckedIOException("the directory " + root + " can not be read: " + e, e);
        }
    }
}
