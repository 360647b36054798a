package org.mmapqueue.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import org.mmapqueue.spark.common.NewQueue;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.common.RecordSchema;

/**
 * The queues that lie in one directory, as the tables of a catalog:
 *
 * <pre>
 * spark.sql.catalog.q = org.mmapqueue.spark.QueueCatalog
 * spark.sql.catalog.q.path = /data/queues
 * </pre>
 *
 * <p>{@code q.events} is the queue in {@code /data/queues/events}. There are no namespaces. Other options of the catalog
 * are those of all its tables. Any number of threads.
 */
public class QueueCatalog implements TableCatalog {
    private String name;
    private Options options;
    private Path root;

    /** Made by Spark, which calls {@link #initialize} next. */
    public QueueCatalog() {
    }

    @Override
    public void initialize(String catalog, CaseInsensitiveStringMap values) {
        name = catalog;
        options = new Options(values);
        root = options.path();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
        checkNamespace(namespace);
        try (Stream<Path> entries = Files.list(root)) {
            return entries.filter(PartitionDirectory::isQueue).map(each -> each.getFileName().toString()).sorted()
                    .map(each -> Identifier.of(namespace, each)).toArray(Identifier[]::new);
        } catch (IOException e) {
            throw new UncheckedIOException("the directory of catalog " + name + ", " + root + ", can not be read: " + e,
                    e);
        }
    }

    @Override
    public Table loadTable(Identifier table) throws NoSuchTableException {
        if (table.namespace().length > 0 || !isName(table.name()) || !PartitionDirectory.isQueue(path(table))) {
            throw new NoSuchTableException(table);
        }
        return table(table, Map.of());
    }

    @Override
    @SuppressWarnings("deprecation") // the form that all versions have
    public Table createTable(Identifier table, StructType schema, Transform[] partitions,
            Map<String, String> properties) throws TableAlreadyExistsException, NoSuchNamespaceException {
        checkNamespace(table.namespace());
        if (!isName(table.name())) {
            throw new IllegalArgumentException("table " + table.name() + ": a queue's name is a directory's name");
        }
        if (partitions.length > 0) {
            throw new IllegalArgumentException("table " + table.name() + ": a queue is not partitioned by columns; its"
                    + " option partitions = n makes n partitions");
        }
        if (!schema.isEmpty() && !RecordSchema.hasColumnsOf(schema)) {
            throw new IllegalArgumentException("table " + table.name() + ": the columns " + schema.catalogString()
                    + " are not those of a queue: " + RecordSchema.READ.catalogString());
        }
        if (PartitionDirectory.isQueue(path(table))) {
            throw new TableAlreadyExistsException(table);
        }
        QueueTable made = table(table, properties);
        NewQueue.make(made.path(), made.options());
        return made;
    }

    @Override
    public Table alterTable(Identifier table, TableChange... changes) {
        throw new UnsupportedOperationException("a queue can not be altered by ALTER TABLE");
    }

    @Override
    public boolean dropTable(Identifier table) {
        throw new UnsupportedOperationException("a queue is not dropped by DROP TABLE, as others may have it open:"
                + " delete its directory " + path(table));
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw new UnsupportedOperationException("a queue is not renamed by ALTER TABLE, as others may have it open:"
                + " rename its directory " + path(from));
    }

    /**
     * Where a table lies.
     *
     * @param table its identifier
     * @return its directory, there or not
     */
    protected final Path path(Identifier table) {
        return root.resolve(table.name());
    }

    private QueueTable table(Identifier table, Map<String, String> properties) {
        Map<String, String> all = new HashMap<>(options.all().asCaseSensitiveMap());
        properties.forEach((key, value) -> all.put(key.startsWith(OPTION_PREFIX)
                ? key.substring(OPTION_PREFIX.length()) : key, value));
        all.keySet().removeIf(Options.PATH::equalsIgnoreCase);
        all.put(Options.PATH, path(table).toString());
        return new QueueTable(new Options(new CaseInsensitiveStringMap(all)));
    }

    private static boolean isName(String table) {
        return !table.isEmpty() && !table.contains("/") && !table.equals(".") && !table.equals("..");
    }

    private static void checkNamespace(String[] namespace) throws NoSuchNamespaceException {
        if (namespace.length > 0) {
            throw new NoSuchNamespaceException(namespace);
        }
    }
}
