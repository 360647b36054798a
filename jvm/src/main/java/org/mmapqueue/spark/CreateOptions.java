package org.mmapqueue.spark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.OptionUse;
import org.mmapqueue.spark.common.Options;

/** What CREATE TABLE may say of a queue that is made: a wrong word would make one that nobody wants. */
final class CreateOptions {
    /** Spark says these by itself. */
    private static final Set<String> SAID_BY_SPARK =
            Set.of(TableCatalog.PROP_OWNER, TableCatalog.PROP_IS_MANAGED_LOCATION, "table_type");

    private static final Set<String> NOT_HERE =
            Set.of(TableCatalog.PROP_LOCATION, TableCatalog.PROP_EXTERNAL, Options.PATH);

    private CreateOptions() {}

    /**
     * The options among a table's properties.
     *
     * @param table its name
     * @param properties as Spark hands them over: what was said as an option is there twice
     * @return what a queue is made by
     * @throws IllegalArgumentException when something else is said
     */
    static Options of(String table, Map<String, String> properties) {
        Map<String, String> said = new HashMap<>();
        properties.forEach((key, value) -> {
            String name = key.startsWith(TableCatalog.OPTION_PREFIX)
                    ? key.substring(TableCatalog.OPTION_PREFIX.length())
                    : key;
            String lower = name.toLowerCase(Locale.ROOT);
            if (lower.equals(TableCatalog.PROP_PROVIDER)) {
                checkProvider(table, value);
            } else if (NOT_HERE.contains(lower)) {
                throw new IllegalArgumentException("table " + table + ": a queue of a catalog lies where its name says;"
                        + " found " + name + " = " + value);
            } else if (!SAID_BY_SPARK.contains(lower)) {
                said.put(name, value);
            }
        });
        try {
            Options options = new Options(said);
            KnownOptions.refuseOthers(options, Set.of(OptionUse.CREATE));
            return options;
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("table " + table + ": " + e.getMessage(), e);
        }
    }

    private static void checkProvider(String table, String provider) {
        if (!provider.equalsIgnoreCase(MmapQueueProvider.NAME) && !RunningCommand.namesNoFormat(provider)) {
            throw new IllegalArgumentException(
                    "table " + table + ": USING " + provider + "; allowed: USING " + MmapQueueProvider.NAME);
        }
    }
}
