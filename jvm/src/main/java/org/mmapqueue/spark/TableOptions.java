package org.mmapqueue.spark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.Options;

/** The options among what Spark says of a table that is not in a catalog of queues. */
final class TableOptions {
    private TableOptions() {}

    /**
     * The options of a read, of a write, or of a table of Spark's own catalog.
     *
     * @param properties as Spark hands them over. Of a table in a catalog they are its properties, too: those that were
     *     given as options come with a prefix besides, and of the others every word is allowed
     * @return the options
     * @throws IllegalArgumentException when an option has no effect on any read or write
     */
    static Options of(Map<String, String> properties) {
        Map<String, String> given = new HashMap<>();
        boolean isInCatalog = properties.keySet().stream().anyMatch(TableCatalog.PROP_PROVIDER::equalsIgnoreCase);
        properties.forEach((key, value) -> {
            if (key.toLowerCase(Locale.ROOT).startsWith(TableCatalog.OPTION_PREFIX)) {
                given.put(key.substring(TableCatalog.OPTION_PREFIX.length()), value);
            } else if (!isInCatalog || KnownOptions.isKnown(key)) {
                given.put(key, value);
            }
        });
        Options options = new Options(given);
        KnownOptions.refuseOthers(options, KnownOptions.ALL);
        return options;
    }
}
