package org.mmapqueue.spark.common;

import java.util.Optional;

/**
 * The consumers in use by streaming queries of this process. They are stored in system properties, which the copies of
 * this class in all class loaders share. Thread-safe.
 */
public final class ConsumersOfQueries {
    private static final String PREFIX = "mmapqueue.stream:";
    /** Prefix of the labels of queries' consumers. */
    private static final String CHECKPOINT = "checkpoint ";

    private ConsumersOfQueries() {}

    /**
     * Reserves a consumer for a query.
     *
     * @param queue the partition's directory, without links in its path, or the id of an archive
     * @param consumer the consumer's name
     * @param query the query's checkpoint
     * @return null, or the query that uses the consumer
     */
    public static String take(String queue, String consumer, String query) {
        return (String) System.getProperties().putIfAbsent(key(queue, consumer), query);
    }

    /**
     * Ends the reservation of a consumer.
     *
     * @param queue the partition's directory, without links in its path, or the id of an archive
     * @param consumer the consumer's name
     */
    public static void release(String queue, String consumer) {
        System.getProperties().remove(key(queue, consumer));
    }

    /**
     * Returns the query that uses a consumer.
     *
     * @param queue the partition's directory, without links in its path, or the id of an archive
     * @param consumer the consumer's name
     * @return the query; null if no query uses the consumer
     */
    public static String queryOf(String queue, String consumer) {
        return System.getProperty(key(queue, consumer));
    }

    /**
     * Returns the label of a query's consumer.
     *
     * @param source directory of the source in the query's checkpoint, as a URI
     * @return the consumer's label
     */
    public static String label(String source) {
        return CHECKPOINT + source;
    }

    /**
     * The reverse of {@link #label}.
     *
     * @param label the label of any consumer
     * @return directory of the source in the query's checkpoint; empty if the label is not that of a query
     */
    public static Optional<String> sourceOf(String label) {
        return label.startsWith(CHECKPOINT) ? Optional.of(label.substring(CHECKPOINT.length())) : Optional.empty();
    }

    private static String key(String queue, String consumer) {
        return PREFIX + consumer + "@" + queue;
    }
}
