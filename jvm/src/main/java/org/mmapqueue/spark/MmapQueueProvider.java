package org.mmapqueue.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.spark.common.RecordSchema;

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

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return RecordSchema.READ;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new QueueTable(TableOptions.of(properties));
    }
}
