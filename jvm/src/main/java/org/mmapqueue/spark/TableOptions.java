package org.mmapqueue.spark;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.Options;

/** Extracts the options of a table outside of a {@link QueueCatalog}. */
final class TableOptions {
    /** The error of PARTITIONED BY and partitionBy. */
    static final String NOT_PARTITIONED =
            "a queue is not partitioned by columns; its option partitions = n makes n partitions";

    private TableOptions() {}

    /**
     * The options of a read, of a write, or of a table of Spark's own catalog.
     *
     * @param properties as Spark passes them. For a table in a catalog they include the table's properties: options
     *     occur a second time with a prefix, and other properties may have any name
     * @return the options
     * @throws IllegalArgumentException if an option has no effect on any read or write, or a table of Spark's own
     *     catalog has no path
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
        if (isInCatalog && !options.isSet(Options.PATH)) {
            throw new IllegalArgumentException("a table of Spark's own catalog needs OPTIONS (path '…') or LOCATION"
                    + " '…', the directory of its queue: without one, DROP TABLE would delete the queue while other"
                    + " processes may have it open");
        }
        KnownOptions.refuseOthers(options, KnownOptions.ALL);
        return options;
    }
}
