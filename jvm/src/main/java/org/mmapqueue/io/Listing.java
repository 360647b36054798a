package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
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
            for (Path file : entries(directory)) {
                String name = file.getFileName().toString();
                if (name.endsWith(suffix)) {
                    found.put(name.substring(0, name.length() - suffix.length()), file);
                }
            }
        }
        return found;
    }

    /**
     * Returns the entries of a directory, in any order. An error after the first of them is an IOException, too: the
     * JDK throws it unchecked, and network file systems have such errors.
     */
    public static List<Path> entries(Path directory) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            entries.forEach(found::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found;
    }
}
