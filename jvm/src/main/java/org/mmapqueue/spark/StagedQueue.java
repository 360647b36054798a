package org.mmapqueue.spark;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/**
 * A queue that CREATE TABLE … AS SELECT makes. The write makes it, once its options and columns are known to be right; so
 * a write that is refused leaves no queue. Any number of threads.
 */
final class StagedQueue implements StagedTable, SupportsWrite {
    private final QueueTable table;

    /**
     * A queue that does not exist yet.
     *
     * @param table as it will be
     */
    StagedQueue(QueueTable table) {
        this.table = table;
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return table.namedWriteBuilder(info);
    }

    // The write has made the queue, of no rows too.
    @Override
    public void commitStagedChanges() {}

    // A write that fails while its rows are written leaves an empty queue: others may have opened it.
    @Override
    public void abortStagedChanges() {}

    @Override
    public Map<String, String> properties() {
        return table.properties();
    }

    @Override
    public String name() {
        return table.name();
    }

    @Override
    @SuppressWarnings("deprecation") // abstract before Spark 4.1
    public StructType schema() {
        return table.schema();
    }

    @Override
    public Set<TableCapability> capabilities() {
        return table.capabilities();
    }
}
