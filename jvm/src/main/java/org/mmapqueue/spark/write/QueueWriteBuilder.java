package org.mmapqueue.spark.write;

import java.nio.file.Path;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.write.sink.PushFigures;
import org.mmapqueue.spark.write.sink.WriteOptions;

/** Collects the mode of a write, and builds it. All output modes of a stream append. */
public final class QueueWriteBuilder implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
    private final Path path;
    private final Options options;
    private final Options given;
    private final LogicalWriteInfo info;
    private final PushFigures figures;
    private boolean truncating;

    /**
     * Begins a write that appends.
     *
     * @param path the queue's directory
     * @param options of the table and of the query
     * @param given the options of the query alone
     * @param info Spark's description of the query
     * @param figures receives the driver's metrics
     */
    public QueueWriteBuilder(Path path, Options options, Options given, LogicalWriteInfo info, PushFigures figures) {
        this.path = path;
        this.options = options;
        this.given = given;
        this.info = info;
        this.figures = figures;
    }

    @Override
    public WriteBuilder truncate() {
        truncating = true;
        return this;
    }

    /**
     * Builds the write.
     *
     * @return the write that Spark runs
     * @throws IllegalArgumentException if an option or a column is invalid
     */
    @Override
    public Write build() {
        WriteOptions parsed = WriteOptions.of(path, options).counting(figures);
        return new QueueWrite(parsed, given, WriteColumns.of(info.schema(), parsed.key()), info.queryId(), truncating);
    }
}
