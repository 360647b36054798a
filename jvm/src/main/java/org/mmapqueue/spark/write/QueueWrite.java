package org.mmapqueue.spark.write;

import java.time.Duration;
import java.util.Set;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.OptionUse;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.write.sink.SinkQueues;
import org.mmapqueue.spark.write.sink.WriteMetrics;
import org.mmapqueue.spark.write.sink.WriteOptions;

/** A batch or streaming write. Tasks stage rows; the driver pushes them when all tasks are done. */
final class QueueWrite implements Write {
    private final WriteOptions options;
    private final Options given;
    private final WriteColumns columns;
    private final String query;
    private final boolean truncating;
    private boolean streaming;

    /**
     * Makes a write.
     *
     * @param given the options of the query alone
     * @param query the id of the query; a stream keeps it after a restart
     * @param truncating whether the query asked to replace existing records
     */
    QueueWrite(WriteOptions options, Options given, WriteColumns columns, String query, boolean truncating) {
        this.options = options;
        this.given = given;
        this.columns = columns;
        this.query = query;
        this.truncating = truncating;
    }

    @Override
    public String description() {
        return "mmapqueue " + options.path();
    }

    /** As the nodes of plans show the write. */
    @Override
    public String toString() {
        return description();
    }

    @Override
    public BatchWrite toBatch() {
        KnownOptions.refuseOthers(given, Set.of(OptionUse.BATCH_WRITE));
        if (truncating) {
            throw new UnsupportedOperationException("mode overwrite is not supported, use append: the records of"
                    + " the queue in " + options.path() + " are removed when all consumers have acked them");
        }
        return new Batch(new SinkWrite(options, columns, query, Duration.ZERO));
    }

    // In output mode complete, each batch has the whole result, which is appended.
    @Override
    public StreamingWrite toStreaming() {
        KnownOptions.refuseOthers(given, Set.of(OptionUse.STREAM_WRITE));
        streaming = true;
        return new Stream(new SinkWrite(options, columns, query, SinkQueues.LINGER));
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
        return WriteMetrics.all(streaming);
    }

    /**
     * The driver's metrics. No @Override: older versions of Spark do not have this method.
     *
     * @return the metrics of a completed batch
     */
    public CustomTaskMetric[] reportDriverMetrics() {
        return streaming
                ? new CustomTaskMetric[0]
                : WriteMetrics.of(options.push().figures());
    }

    private record Batch(SinkWrite write) implements BatchWrite {
        @Override
        public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
            return write.beginBatch();
        }

        @Override
        public void commit(WriterCommitMessage[] messages) {
            write.commitBatch(messages);
        }

        @Override
        public void abort(WriterCommitMessage[] messages) {
            write.abort();
        }
    }

    private record Stream(SinkWrite write) implements StreamingWrite {
        @Override
        public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
            return write.beginEpoch();
        }

        @Override
        public void commit(long epoch, WriterCommitMessage[] messages) {
            write.commitEpoch(epoch, messages);
        }

        @Override
        public void abort(long epoch, WriterCommitMessage[] messages) {
            write.abort();
        }

        /** As the nodes of plans show the write. */
        @Override
        public String toString() {
            return write.toString();
        }
    }
}
