package org.mmapqueue.spark.source;

import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.spark.common.Options;

/** Where the partitions of a queue are: what the option path names. Immutable. */
public interface Location {

    /**
     * The location that options name; the queue need not exist yet.
     *
     * @param options of a table or a query
     * @return the location
     * @throws IllegalArgumentException if the path is missing or invalid
     */
    static Location of(Options options) {
        return new LocalLocation(options.path());
    }

    /**
     * Whether there is a queue.
     *
     * @return false before the first write
     */
    boolean exists();

    /**
     * The existing partitions.
     *
     * @return the partitions, by number
     * @throws IllegalArgumentException if there is no queue
     */
    List<PartitionLocation> partitions();

    /**
     * Opens all existing partitions for planning.
     *
     * @return the partitions, which the caller closes
     * @throws IllegalArgumentException if there is no queue
     */
    OpenPartitions open();

    /**
     * The directory of a local queue.
     *
     * @param action what the caller is about to do, for the message of an error: "TRUNCATE TABLE"
     * @return the directory
     */
    Path directory(String action);

    /**
     * The location as a URI.
     *
     * @return the URI as text
     */
    String uri();

    /** The path, for messages. */
    @Override
    String toString();
}
