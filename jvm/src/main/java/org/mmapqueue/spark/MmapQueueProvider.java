package org.mmapqueue.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.source.Location;

/** The provider of {@code format("mmapqueue")}. Spark creates an instance whenever it needs one. */
public final class MmapQueueProvider implements TableProvider, DataSourceRegister {
    /** The name of the format. */
    public static final String NAME = "mmapqueue";

    /** Called by Spark, by reflection. */
    public MmapQueueProvider() {}

    @Override
    public String shortName() {
        return NAME;
    }

    /** Makes Spark pass the columns and options of CREATE TABLE, so that wrong ones are an error at that statement. */
    @Override
    public boolean supportsExternalMetadata() {
        return true;
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        Location unused = Location.of(TableOptions.of(options.asCaseSensitiveMap())); // throws if it is invalid
        return RecordSchema.READ;
    }

    /**
     * Makes a table.
     *
     * @param schema the columns of the rows to write, or the columns that a read or CREATE TABLE gives; for a read they
     *     must be the queue's own
     * @param partitioning must be empty
     * @param properties the options, and the properties of a table in a catalog
     * @return the table; its queue need not exist yet
     * @throws IllegalArgumentException if an option is invalid, or the table is partitioned
     */
    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        if (partitioning.length > 0) {
            throw new IllegalArgumentException(TableOptions.NOT_PARTITIONED);
        }
        return new QueueTable(TableOptions.of(properties), schema);
    }
}
