package org.mmapqueue.spark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.OptionUse;
import org.mmapqueue.spark.common.Options;

/** The options of CREATE TABLE. An unknown option is an error, so that no queue is made with unwanted settings. */
final class CreateOptions {
    /** Properties that Spark sets itself. */
    private static final Set<String> SET_BY_SPARK =
            Set.of(TableCatalog.PROP_OWNER, TableCatalog.PROP_IS_MANAGED_LOCATION, "table_type");

    private static final Set<String> NOT_HERE =
            Set.of(TableCatalog.PROP_LOCATION, TableCatalog.PROP_EXTERNAL, Options.PATH);

    private CreateOptions() {}

    /**
     * Extracts the options from a table's properties.
     *
     * @param table the table's name
     * @param properties as Spark passes them: each option occurs twice
     * @return the options of the new queue
     * @throws IllegalArgumentException for any other property
     */
    static Options of(String table, Map<String, String> properties) {
        Map<String, String> given = new HashMap<>();
        properties.forEach((key, value) -> {
            String name = key.startsWith(TableCatalog.OPTION_PREFIX)
                    ? key.substring(TableCatalog.OPTION_PREFIX.length())
                    : key;
            String lower = name.toLowerCase(Locale.ROOT);
            if (lower.equals(TableCatalog.PROP_PROVIDER)) {
                checkProvider(table, value);
            } else if (NOT_HERE.contains(lower)) {
                throw new IllegalArgumentException("table"
                        + " " + table + ": the name of a table gives the directory of its queue; found"
                        + " " + name + " = " + value);
            } else if (!SET_BY_SPARK.contains(lower)) {
                given.put(name, value);
            }
        });
        try {
            Options options = new Options(given);
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
