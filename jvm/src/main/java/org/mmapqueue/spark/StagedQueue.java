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
 * The queue of CREATE TABLE … AS SELECT. The write creates it after it has checked options and columns, so a write with
 * invalid ones leaves no queue. Thread-safe.
 */
final class StagedQueue implements StagedTable, SupportsWrite {
    private final QueueTable table;

    /**
     * A queue that does not exist yet.
     *
     * @param table the new table
     */
    StagedQueue(QueueTable table) {
        this.table = table;
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return table.namedWriteBuilder(info);
    }

    // Nothing to do: the write has created the queue, also without rows.
    @Override
    public void commitStagedChanges() {}

    // Nothing to undo: a failed write leaves an empty queue, because other processes may have opened it.
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
