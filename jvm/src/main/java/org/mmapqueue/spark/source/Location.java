package org.mmapqueue.spark.source;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.mmapqueue.config.Locations;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.spark.common.Options;

/** The location of a queue's partitions, which the option path names. Immutable. */
public interface Location {

    /**
     * Returns the location that options name; the queue need not exist yet. A directory with the file
     * archive.properties, and any URI but {@code file:}, is an archive.
     *
     * @param options of a table or a query
     * @return the location
     * @throws IllegalArgumentException if the path is missing or invalid
     */
    static Location of(Options options) {
        String text = options.text(Options.PATH, "");
        if (Options.isUri(text) && !text.regionMatches(true, 0, "file:", 0, "file:".length())) {
            return new ArchiveLocation(uriOf(text), text);
        }
        Path path = options.path();
        return Files.exists(path.resolve(ArchiveLocation.FILE))
                ? new ArchiveLocation(uriOf(path.toString()), path.toString())
                : new LocalLocation(path);
    }

    private static URI uriOf(String path) {
        try {
            return Locations.of(Options.PATH, path);
        } catch (ConfigException e) {
            throw Options.bad(Options.PATH, path, e.allowed());
        }
    }

    /**
     * The location of a path.
     *
     * @param path a local path, or a URI
     * @return the location
     */
    static Location of(String path) {
        return of(new Options(Map.of(Options.PATH, path)));
    }

    /**
     * Returns whether the location has a queue or archive.
     *
     * @return false before the first write
     */
    boolean exists();

    /**
     * Opens all existing partitions for planning.
     *
     * @return the partitions, which the caller closes
     * @throws IllegalArgumentException if the location has no queue
     */
    OpenPartitions open();

    /**
     * Returns the directory of a local queue; archives cannot be written.
     *
     * @param action what the caller is about to do, for the message of an error: "TRUNCATE TABLE"
     * @return the directory
     * @throws UnsupportedOperationException for an archive
     */
    Path directory(String action);

    /**
     * The queues and archives in the directory.
     *
     * @return the names of their directories, sorted
     * @throws java.io.UncheckedIOException if the directory cannot be read
     */
    List<String> names();

    /**
     * A queue or archive in the directory.
     *
     * @param name the name of its directory
     * @return the location
     */
    Location child(String name);

    /**
     * The location as a URI.
     *
     * @return the URI as text
     */
    String asUri();

    /** The path, for messages. */
    @Override
    String toString();
}
