package org.mmapqueue.spark.read;

import java.nio.file.Path;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;

import org.mmapqueue.spark.common.Options;

/** What is to be read, while Spark says what it needs of it. */
public final class QueueScanBuilder implements ScanBuilder {
    private final Path path;
    private final Options options;

    /**
     * A scan of everything that is retained.
     *
     * @param path the queue's directory
     * @param options of the table and of the query
     */
    public QueueScanBuilder(Path path, Options options) {
        this.path = path;
        this.options = options;
    }

    @Override
    public Scan build() {
        throw new UnsupportedOperationException(path + " " + options);
    }
}
