package org.mmapqueue.spark.write;

import java.nio.file.Path;

import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.WriteBuilder;

import org.mmapqueue.spark.common.Options;

/** What is to be written, while Spark says how. Appends; replaces nothing. */
public final class QueueWriteBuilder implements SupportsTruncate {
    private final Path path;
    private final Options options;
    private final LogicalWriteInfo info;
    private boolean truncating;

    /**
     * A write that appends.
     *
     * @param path the queue's directory
     * @param options of the table and of the query
     * @param info what Spark says of the query
     */
    public QueueWriteBuilder(Path path, Options options, LogicalWriteInfo info) {
        this.path = path;
        this.options = options;
        this.info = info;
    }

    @Override
    public WriteBuilder truncate() {
        truncating = true;
        return this;
    }
}
