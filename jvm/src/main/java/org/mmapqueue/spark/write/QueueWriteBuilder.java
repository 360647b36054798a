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

/** What is to be written, while Spark says how. Appends, in every output mode of a stream; replaces nothing. */
public final class QueueWriteBuilder implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
    private final Path path;
    private final Options options;
    private final Options given;
    private final LogicalWriteInfo info;
    private final PushFigures figures;
    private boolean truncating;

    /**
     * A write that appends.
     *
     * @param path the queue's directory
     * @param options of the table and of the query
     * @param given those of the query alone
     * @param info what Spark says of the query
     * @param figures count what the driver does
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
     * The write.
     *
     * @return what Spark runs
     * @throws IllegalArgumentException when an option or a column is wrong
     */
    @Override
    public Write build() {
        WriteOptions parsed = WriteOptions.of(path, options).counting(figures);
        return new QueueWrite(parsed, given, WriteColumns.of(info.schema(), parsed.key()), info.queryId(), truncating);
    }
}
