package org.mmapqueue.spark;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.read.QueueScanBuilder;
import org.mmapqueue.spark.write.QueueWriteBuilder;
import org.mmapqueue.spark.write.sink.PushFigures;

/** A queue as a table. Any number of threads. */
final class QueueTable implements SupportsRead, SupportsWrite, ReportsSinkMetrics {
    private static final Set<TableCapability> CAPABILITIES = EnumSet.of(
            TableCapability.BATCH_READ,
            TableCapability.MICRO_BATCH_READ,
            TableCapability.BATCH_WRITE,
            TableCapability.STREAMING_WRITE,
            TableCapability.TRUNCATE,
            TableCapability.ACCEPT_ANY_SCHEMA);

    private final Options properties;
    private final Path path;
    /** Those of the last write that has committed: of a stream, the last epoch's. Spark makes more than it runs. */
    private volatile PushFigures lastWrite;

    /**
     * A table that need not be there yet.
     *
     * @param properties its options, the path among them
     * @throws IllegalArgumentException when the path is missing or not a local one
     */
    QueueTable(Options properties) {
        this.properties = properties;
        this.path = properties.path();
    }

    /** Where it lies. */
    Path path() {
        return path;
    }

    /** What is said of it. */
    Options options() {
        return properties;
    }

    /** Its options, and its state now: what DESCRIBE TABLE EXTENDED shows. */
    @Override
    public Map<String, String> properties() {
        Map<String, String> all = new TreeMap<>();
        properties.all().forEach((name, value) -> {
            if (!name.equalsIgnoreCase(Options.PATH)) { // said as the location
                all.put(TableCatalog.OPTION_PREFIX + name, value);
            }
        });
        all.put(TableCatalog.PROP_PROVIDER, MmapQueueProvider.NAME);
        all.put(TableCatalog.PROP_LOCATION, path.toUri().toString());
        if (PartitionDirectory.isQueue(path)) {
            all.putAll(QueueState.of(path));
        }
        return all;
    }

    @Override
    public String name() {
        return MmapQueueProvider.NAME + "." + path;
    }

    @Override
    @SuppressWarnings("deprecation") // abstract before Spark 4.1
    public StructType schema() {
        return RecordSchema.READ;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return CAPABILITIES;
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        Options given = new Options(options);
        return new QueueScanBuilder(path, given.over(properties), given);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return namedWriteBuilder(SqlWriteInfo.of(info));
    }

    /** A write whose columns are known by their names. */
    WriteBuilder namedWriteBuilder(LogicalWriteInfo info) {
        Options given = new Options(info.options());
        return new QueueWriteBuilder(
                path, given.over(properties), given, info, new PushFigures(each -> lastWrite = each));
    }

    /** What a query's progress says of its sink. */
    @Override
    public Map<String, String> metrics() {
        PushFigures figures = lastWrite;
        return figures == null ? Map.of() : figures.figures();
    }

    /** As query progress names a source or a sink. */
    @Override
    public String toString() {
        return name();
    }
}
