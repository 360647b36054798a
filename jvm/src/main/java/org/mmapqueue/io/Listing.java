package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SortedMap;
import java.util.TreeMap;

/** Lists the files of a directory. */
public final class Listing {
    private Listing() {}

    /**
     * As {@link #of}, for a directory inside of a queue's.
     *
     * @throws IOException if it is a symbolic link, since a link would lead out of the queue's directory
     */
    public static SortedMap<String, Path> inside(Path directory, String suffix) throws IOException {
        refuseLink(directory);
        return of(directory, suffix);
    }

    /** Throws if a directory inside of a queue's is a symbolic link. */
    public static void refuseLink(Path directory) throws IOException {
        if (Files.isSymbolicLink(directory)) {
            throw new FileSystemException(
                    directory.toString(), null, "is a symbolic link; expected a directory, or nothing");
        }
    }

    /**
     * Returns the files with names that end with a suffix, by the name without it, in alphabetical order; none if the
     * directory does not exist.
     */
    public static SortedMap<String, Path> of(Path directory, String suffix) throws IOException {
        SortedMap<String, Path> found = new TreeMap<>();
        if (Files.isDirectory(directory)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + suffix)) {
                for (Path file : files) {
                    String name = file.getFileName().toString();
                    found.put(name.substring(0, name.length() - suffix.length()), file);
                }
            }
        }
        return found;
    }
}
