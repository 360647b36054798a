package org.mmapqueue.spark;

import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.write.sink.WritablePartitions;

/**
 * A catalog: the queues in one directory are its tables.
 *
 * <pre>
 * spark.sql.catalog.q = org.mmapqueue.spark.QueueCatalog
 * spark.sql.catalog.q.path = /data/queues
 * </pre>
 *
 * <p>{@code q.events} is the queue, or archive, in {@code /data/queues/events}, and {@code q.`/data/other`} a queue in
 * another directory. A catalog with the name mmapqueue needs no path; without a path, tables are named by absolute
 * paths only: {@code SELECT * FROM mmapqueue.`/data/events`}. There are no namespaces. Other options of the catalog
 * apply to all tables. Thread-safe.
 */
public class QueueCatalog implements StagingTableCatalog {
    /** Options that a queue is made with. */
    private static final List<String> OF_NEW_QUEUES =
            List.of(Options.PARTITIONS, "capacity", "segment_size", "queue_capacity_segments");

    private String name;
    /** The options of new queues. */
    private Options options;
    /** The options of existing queues, which keep what they were made with. */
    private Options ofExisting;
    /** The directory of the tables; null if tables are named by absolute paths only. */
    private Location root;

    /** Called by Spark, by reflection; {@link #initialize} follows. */
    public QueueCatalog() {}

    @Override
    public void initialize(String catalog, CaseInsensitiveStringMap values) {
        name = catalog;
        options = new Options(values);
        ofExisting = options.without(OF_NEW_QUEUES);
        KnownOptions.refuseOthers(options, KnownOptions.ALL);
        boolean byPath = catalog.equals(MmapQueueProvider.NAME) && !options.isSet(Options.PATH);
        root = byPath ? null : Location.of(options);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
        checkNamespace(namespace);
        if (root == null) {
            return new Identifier[0];
        }
        try {
            return root.names().stream()
                    .map(each -> Identifier.of(namespace, each))
                    .toArray(Identifier[]::new);
        } catch (UncheckedIOException e) {
            throw new UncheckedIOException(
                    "the directory of catalog " + name + ", " + root + ", cannot be read: " + e.getCause(),
                    e.getCause());
        }
    }

    @Override
    public Table loadTable(Identifier table) throws NoSuchTableException {
        if (!exists(table)) {
            throw new NoSuchTableException(table);
        }
        return table(table.name(), ofExisting);
    }

    @Override
    @SuppressWarnings("deprecation") // the overload that all supported versions have
    public Table createTable(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        String queue = table.name();
        if (!RecordSchema.hasColumnsOf(withBinaryValue(schema))) {
            throw new IllegalArgumentException("table " + queue + ": the columns " + schema.catalogString()
                    + " are not those of a queue: " + RecordSchema.READ.catalogString());
        }
        QueueTable made = newTable(table, partitions, properties);
        try {
            Closing.all(
                    WritablePartitions.makeAndOpen(made.location().directory("CREATE TABLE"), made.options()),
                    MmapQueue::close);
        } catch (ConfigException | IllegalArgumentException e) {
            throw new IllegalArgumentException("table " + queue + ": " + e.getMessage(), e);
        }
        return made;
    }

    // The write creates the queue after it has checked all options and columns.
    @Override
    @SuppressWarnings("deprecation") // the overload that all supported versions have
    public StagedTable stageCreate(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        return new StagedQueue(newTable(table, partitions, properties));
    }

    @Override
    @SuppressWarnings("deprecation") // the overload that all supported versions have
    public StagedTable stageReplace(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        throw notReplaced(table.name());
    }

    @Override
    @SuppressWarnings("deprecation") // the overload that all supported versions have
    public StagedTable stageCreateOrReplace(
            Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
        throw notReplaced(table.name());
    }

    private QueueTable newTable(Identifier table, Transform[] partitions, Map<String, String> properties)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        checkNamespace(table.namespace());
        String queue = table.name();
        if (!isName(queue)) {
            throw new IllegalArgumentException("table " + queue + ": a queue is named by a directory"
                    + (root == null ? "'s absolute path" : " in " + root + ", or by an absolute path"));
        }
        if (partitions.length > 0) {
            throw new IllegalArgumentException("table " + queue + ": " + TableOptions.NOT_PARTITIONED);
        }
        Options given = CreateOptions.of(queue, properties);
        if (location(queue).exists()) {
            throw new TableAlreadyExistsException(table);
        }
        return table(queue, given.over(options));
    }

    // Replaces a string column by binary: it is stored as UTF-8 bytes.
    private static StructType withBinaryValue(StructType schema) {
        StructType columns = new StructType();
        for (StructField each : schema.fields()) {
            boolean text = each.name().equalsIgnoreCase(RecordSchema.VALUE)
                    && each.dataType().equals(DataTypes.StringType);
            columns = columns.add(each.name(), text ? DataTypes.BinaryType : each.dataType(), each.nullable());
        }
        return columns;
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        throw new UnsupportedOperationException("a queue cannot be altered by ALTER TABLE: its columns are fixed and"
                + " the configuration of " + location(table.name()) + " does not change");
    }

    /** Deletes the queue with its records, unless the queue is open. There is no trash: Spark throws for PURGE. */
    @Override
    public boolean dropTable(Identifier table) {
        if (!exists(table)) {
            return false;
        }
        Path directory = location(table.name()).directory("DROP TABLE");
        Options keys = new Options(Map.of(Options.PATH, directory.toString())).over(ofExisting);
        return SqlStatement.run("DROP TABLE " + table.name(), () -> {
            WritablePartitions.destroy(directory, keys);
            return true;
        });
    }

    private UnsupportedOperationException notReplaced(String table) {
        return new UnsupportedOperationException(
                "a queue cannot be replaced in SQL: DROP TABLE deletes the one in " + location(table));
    }

    private boolean exists(Identifier table) {
        return table.namespace().length == 0
                && isName(table.name())
                && location(table.name()).exists();
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw new UnsupportedOperationException("a queue cannot be renamed by ALTER TABLE, as other processes may"
                + " have it open: rename its directory " + location(from.name()));
    }

    /**
     * Administration of a table's queue.
     *
     * @param table the table's name
     * @return the administration of an existing queue
     * @throws IllegalArgumentException if the queue does not exist
     */
    final QueueAdmin admin(String table) {
        if (!isName(table) || !location(table).exists()) {
            throw new IllegalArgumentException("table " + table + ": there is no such"
                    + " queue"
                    + (root == null
                            ? ", and catalog " + name + " has no path: use an absolute" + " path"
                            : " in " + root));
        }
        return new QueueAdmin(location(table).directory("CALL"), ofExisting);
    }

    // The location of a table; an absolute name is a path.
    private Location location(String table) {
        return root == null || isAbsolute(table) ? Location.of(table) : root.child(table);
    }

    private static boolean isAbsolute(String table) {
        return table.startsWith("/") || Options.isUri(table);
    }

    private QueueTable table(String table, Options properties) {
        return new QueueTable(new Options(Map.of(Options.PATH, location(table).toString())).over(properties));
    }

    private boolean isName(String table) {
        if (table.indexOf('\0') >= 0) {
            return false;
        }
        return isAbsolute(table)
                || root != null
                        && !table.isEmpty()
                        && !table.contains("/")
                        && !table.equals(".")
                        && !table.equals("..");
    }

    private static void checkNamespace(String[] namespace) throws NoSuchNamespaceException {
        if (namespace.length > 0) {
            throw new NoSuchNamespaceException(namespace);
        }
    }
}
