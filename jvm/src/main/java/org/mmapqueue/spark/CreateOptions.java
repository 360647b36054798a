package org.mmapqueue.spark;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.spark.sql.connector.catalog.TableCatalog;

import org.mmapqueue.queue.QueueConfig;
import org.mmapqueue.spark.common.Options;

/** What CREATE TABLE may say of a queue that is made: a wrong word would make one that nobody wants. */
final class CreateOptions {
    /** Spark says these by itself. */
    private static final Set<String> SAID_BY_SPARK = Set.of(TableCatalog.PROP_OWNER,
            TableCatalog.PROP_IS_MANAGED_LOCATION, "table_type");
    private static final Set<String> NOT_HERE = Set.of(TableCatalog.PROP_LOCATION, TableCatalog.PROP_EXTERNAL,
            Options.PATH);

    private CreateOptions() {
    }

    /**
     * The options among a table's properties.
     *
     * @param table its name
     * @param properties as Spark hands them over: what was said as an option is there twice
     * @return what a queue is made by, by name in any case
     * @throws IllegalArgumentException when something else is said
     */
    static SortedMap<String, String> of(String table, Map<String, String> properties) {
        Set<String> allowed = new TreeSet<>(QueueConfig.defaults().keySet());
        allowed.add(Options.PARTITIONS);
        allowed.add(Options.CAPACITY);
        SortedMap<String, String> options = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        properties.forEach((key, value) -> {
            String name = key.startsWith(TableCatalog.OPTION_PREFIX)
                    ? key.substring(TableCatalog.OPTION_PREFIX.length()) : key;
            String lower = name.toLowerCase(Locale.ROOT);
            if (lower.equals(TableCatalog.PROP_PROVIDER)) {
                checkProvider(table, value);
            } else if (NOT_HERE.contains(lower)) {
                throw new IllegalArgumentException("table " + table + ": a queue of a catalog lies where its name says;"
                        + " found " + name + " = " + value);
            } else if (allowed.contains(lower)) {
                options.put(lower, value);
            } else if (!SAID_BY_SPARK.contains(lower)) {
                throw new IllegalArgumentException("table " + table + ": "
                        + Options.bad(name, value, "one of " + String.join(", ", allowed)).getMessage());
            }
        });
        return options;
    }

    private static void checkProvider(String table, String provider) {
        if (!provider.equalsIgnoreCase(MmapQueueProvider.NAME)) {
            throw new IllegalArgumentException("table " + table + ": USING " + provider + "; allowed: USING "
                    + MmapQueueProvider.NAME);
        }
    }
}
