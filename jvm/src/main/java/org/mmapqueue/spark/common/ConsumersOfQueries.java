package org.mmapqueue.spark.common;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The consumers in use by streaming queries of this process. They are stored in system properties, which the copies of
 * this class in all class loaders share. Thread-safe.
 */
public final class ConsumersOfQueries {
    private static final String PREFIX = "mmapqueue.stream:";
    /** Prefix of the labels of queries' consumers. */
    private static final String CHECKPOINT = "checkpoint ";

    private static final String LASTING_NAME = "spark-";
    private static final String TEMPORARY_NAME = "spark-temporary-";
    private static final Pattern TEMPORARY = Pattern.compile(TEMPORARY_NAME + "[0-9a-f]{16}");

    private ConsumersOfQueries() {}

    /**
     * Returns the name of a query's consumer. Other programs and processes know by the name whether the consumer is
     * temporary: no restart of the query will use it.
     *
     * @param digest identifies the query, as hex digits
     * @param isTemporary whether the query cannot be restarted
     * @return the consumer's name
     */
    public static String name(String digest, boolean isTemporary) {
        return (isTemporary ? TEMPORARY_NAME : LASTING_NAME) + digest;
    }

    /**
     * Whether a consumer is that of a query that cannot be restarted.
     *
     * @param consumer the consumer's name
     * @return false for a consumer that lasts
     */
    public static boolean isTemporary(String consumer) {
        return TEMPORARY.matcher(consumer).matches();
    }

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
