package org.mmapqueue.spark.common;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Which consumers streaming queries of this process use: properties of the system, so that all copies of these classes
 * see them. Any number of threads.
 */
public final class ConsumersOfQueries {
    private static final String PREFIX = "mmapqueue.stream:";
    /** How the labels of queries' consumers begin. */
    private static final String CHECKPOINT = "checkpoint ";

    private ConsumersOfQueries() {}

    /**
     * Takes a consumer for a query.
     *
     * @param directory the partition's, without links in its path
     * @param consumer its name
     * @param query who takes it
     * @return null, or the query that has it already
     */
    public static String take(Path directory, String consumer, String query) {
        return (String) System.getProperties().putIfAbsent(key(directory, consumer), query);
    }

    /**
     * Gives it back.
     *
     * @param directory the partition's, without links in its path
     * @param consumer its name
     */
    public static void giveBack(Path directory, String consumer) {
        System.getProperties().remove(key(directory, consumer));
    }

    /**
     * Who has it.
     *
     * @param directory the partition's, without links in its path
     * @param consumer its name
     * @return the query; null when none has
     */
    public static String queryOf(Path directory, String consumer) {
        return System.getProperty(key(directory, consumer));
    }

    /**
     * What a query's consumer says of itself.
     *
     * @param source the place of the query's source in its checkpoint, as a URI
     * @return the consumer's label
     */
    public static String label(String source) {
        return CHECKPOINT + source;
    }

    /**
     * The reverse of {@link #label}.
     *
     * @param label of any consumer
     * @return the place of the source in its query's checkpoint; empty when the consumer is no query's, or one of a
     *     version that did not say so
     */
    public static Optional<String> sourceOf(String label) {
        return label.startsWith(CHECKPOINT) ? Optional.of(label.substring(CHECKPOINT.length())) : Optional.empty();
    }

    private static String key(Path directory, String consumer) {
        return PREFIX + consumer + "@" + directory;
    }
}
