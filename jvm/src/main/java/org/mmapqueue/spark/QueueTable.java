package org.mmapqueue.spark;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.QueueScanBuilder;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.write.QueueWriteBuilder;
import org.mmapqueue.spark.write.sink.PushFigures;

/** A queue as a table. Thread-safe. */
final class QueueTable
        implements SupportsRead, SupportsWrite, SupportsMetadataColumns, TruncatableTable, ReportsSinkMetrics {
    private static final Set<TableCapability> CAPABILITIES = EnumSet.of(
            TableCapability.BATCH_READ,
            TableCapability.MICRO_BATCH_READ,
            TableCapability.BATCH_WRITE,
            TableCapability.STREAMING_WRITE,
            TableCapability.TRUNCATE,
            TableCapability.ACCEPT_ANY_SCHEMA);

    /** A metadata column: a query reads it only if it names the column. */
    private record QueueId() implements MetadataColumn {

        @Override
        public String name() {
            return RecordSchema.QUEUE_ID;
        }

        @Override
        public DataType dataType() {
            return DataTypes.StringType;
        }

        @Override
        public boolean isNullable() {
            return false;
        }

        @Override
        public String comment() {
            return "the id (UUID) of the partition's queue, which differs from that of any other queue";
        }
    }

    private final Options properties;
    private final Location location;
    /** The columns that the program specified; null for none. */
    private final StructType given;
    /** Figures of the last committed write, or of a stream's last epoch. Spark creates more writes than it runs. */
    private volatile PushFigures lastWrite;

    /**
     * A table; its queue need not exist yet.
     *
     * @param properties the table's options, including the path
     * @throws IllegalArgumentException if the path is missing, or not local
     */
    QueueTable(Options properties) {
        this(properties, null);
    }

    /**
     * A table outside of a {@link QueueCatalog}; its queue need not exist yet.
     *
     * @param properties the table's options, including the path
     * @param given the columns to write, or those that a read gave
     * @throws IllegalArgumentException if the path is missing, or not local
     */
    QueueTable(Options properties, StructType given) {
        this.properties = properties;
        this.location = Location.of(properties);
        this.given = given;
    }

    /** The location of the queue. */
    Location location() {
        return location;
    }

    /** The table's options. */
    Options options() {
        return properties;
    }

    /** The options and the present state, as DESCRIBE TABLE EXTENDED shows them. */
    @Override
    public Map<String, String> properties() {
        Map<String, String> all = new TreeMap<>();
        properties.all().forEach((name, value) -> {
            if (!name.equalsIgnoreCase(Options.PATH)) { // shown as the location
                all.put(TableCatalog.OPTION_PREFIX + name, value);
            }
        });
        all.put(TableCatalog.PROP_PROVIDER, MmapQueueProvider.NAME);
        all.put(TableCatalog.PROP_LOCATION, location.asUri());
        if (given != null) {
            all.put(TableCatalog.PROP_EXTERNAL, "true"); // Spark's own catalog does not delete the queue
        }
        if (location.exists()) {
            all.putAll(QueueState.of(location));
        }
        return all;
    }

    @Override
    public String name() {
        return MmapQueueProvider.NAME + "." + location;
    }

    @Override
    @SuppressWarnings("deprecation") // abstract before Spark 4.1
    public StructType schema() {
        return RecordSchema.READ;
    }

    @Override
    public MetadataColumn[] metadataColumns() {
        return new MetadataColumn[] {new QueueId()};
    }

    @Override
    public Set<TableCapability> capabilities() {
        return CAPABILITIES;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        if (given != null && !(given.length() == RecordSchema.READ.length() && RecordSchema.hasColumnsOf(given))) {
            throw new IllegalArgumentException("the columns " + given.catalogString() + " are not those of a queue: "
                    + RecordSchema.READ.catalogString() + "; select and cast what is read");
        }
        Options query = new Options(options);
        return new QueueScanBuilder(location, query.over(properties), query);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return namedWriteBuilder(SqlWriteInfo.of(info));
    }

    /** Implements TRUNCATE TABLE, and DELETE without a condition. */
    @Override
    public boolean truncateTable() {
        QueueAdmin admin = new QueueAdmin(location.directory("TRUNCATE TABLE"), properties);
        return SqlStatement.run("TRUNCATE TABLE " + location, () -> {
            admin.purge();
            return true;
        });
    }

    /** A write that matches columns by name. */
    WriteBuilder namedWriteBuilder(LogicalWriteInfo info) {
        Options query = new Options(info.options());
        return new QueueWriteBuilder(
                location.directory("a write"),
                query.over(properties),
                query,
                info,
                new PushFigures(() -> lastWrite, each -> lastWrite = each));
    }

    /** The sink's metrics in a query's progress. */
    @Override
    public Map<String, String> metrics() {
        PushFigures figures = lastWrite;
        return figures == null ? Map.of() : figures.figures();
    }

    /** The name of the source or sink in a query's progress. */
    @Override
    public String toString() {
        return name();
    }
}
