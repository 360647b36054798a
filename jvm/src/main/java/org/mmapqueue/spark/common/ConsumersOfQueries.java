package org.mmapqueue.spark.common;

import java.nio.file.Path;

/**
 * Which consumers streaming queries of this process use: properties of the system, so that all copies of these classes
 * see them. Any number of threads.
 */
public final class ConsumersOfQueries {
    private static final String PREFIX = "mmapqueue.stream:";

    private ConsumersOfQueries() {
    }

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

    private static String key(Path directory, String consumer) {
        return PREFIX + consumer + "@" + directory;
    }
}
