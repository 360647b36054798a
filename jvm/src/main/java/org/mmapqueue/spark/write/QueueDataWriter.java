package org.mmapqueue.spark.write;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.io.Storage;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.write.sink.WriteMetrics;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFileWriter;
import org.mmapqueue.spark.write.staging.StagedTask;

/** Stages the rows of a task: one file for each partition that receives rows. Not thread-safe. */
final class QueueDataWriter implements DataWriter<InternalRow> {
    private static final int MOST_BUFFERED = 1 << 20;
    private static final int LARGEST_BLOCK = 256 << 10;
    private static final int SMALLEST_BLOCK = 16 << 10;

    private final QueueWriterFactory factory;
    private final Storage storage;
    private final int task;
    private final String name;
    private final PartitionChooser chooser;
    private final StagedFileWriter[] writers;
    private final int value;
    private final boolean isString;
    private boolean isCommitted;

    QueueDataWriter(QueueWriterFactory factory, Storage storage, int task, String name) {
        this.factory = factory;
        this.storage = storage;
        this.task = task;
        this.name = name;
        this.chooser = new PartitionChooser(factory.columns(), factory.partitions(), task);
        this.writers = new StagedFileWriter[factory.partitions()];
        this.value = factory.columns().value();
        this.isString = factory.columns().isString();
    }

    @Override
    public void write(InternalRow row) throws IOException {
        if (row.isNullAt(value)) {
            throw new IllegalArgumentException(
                    "the column value is null in a row of task " + task + "; allowed: a string or bytes");
        }
        int partition = chooser.choose(row);
        StagedFileWriter writer = writers[partition];
        if (writer == null) {
            writer = open(partition);
        }
        if (isString || row instanceof UnsafeRow) {
            // An UnsafeRow stores binary as it stores strings; read as a string, the bytes are not copied.
            UTF8String text = row.getUTF8String(value);
            int length = text.numBytes();
            reserve(writer, length);
            text.writeToMemory(writer.array(), Platform.BYTE_ARRAY_OFFSET + writer.position());
            writer.add(length);
        } else {
            byte[] bytes = row.getBinary(value);
            reserve(writer, bytes.length);
            System.arraycopy(bytes, 0, writer.array(), writer.position(), bytes.length);
            writer.add(bytes.length);
        }
    }

    private void reserve(StagedFileWriter writer, int length) throws IOException {
        if (length > factory.maxEventSize()) {
            throw new TooLargeException("a row of task " + task + " has " + length + " bytes, and the queue takes up to"
                    + " max_event_size = " + factory.maxEventSize() + "; option max_event_size raises that");
        }
        writer.reserve(length);
    }

    private StagedFileWriter open(int partition) throws IOException {
        Path directory = Path.of(factory.staged().directory());
        if (!Files.isDirectory(directory)) {
            String host = Hosts.own();
            String driver = factory.staged().driverHost();
            throw new IOException(
                    host.equals(driver)
                            ? directory + " was deleted: the write has been aborted"
                            : "host " + host + " has no directory " + directory + ", which the driver on host " + driver
                                    + " has made: the queue must be on a file system that both hosts mount under the"
                                    + " same path, or the write has been aborted");
        }
        int block = Math.max(SMALLEST_BLOCK, Math.min(LARGEST_BLOCK, MOST_BUFFERED / factory.partitions()));
        Path file = directory.resolve(name + ".p" + partition);
        writers[partition] = new StagedFileWriter(storage, partition, file, block);
        return writers[partition];
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
        List<StagedFile> files = new ArrayList<>();
        for (StagedFileWriter writer : writers) {
            if (writer != null) {
                files.add(writer.finish(factory.sync()));
            }
        }
        isCommitted = true;
        return new StagedTask(files);
    }

    @Override
    public void abort() throws IOException {
        isCommitted = false;
        close();
    }

    @Override
    public void close() throws IOException {
        if (isCommitted) {
            return;
        }
        for (StagedFileWriter writer : writers) {
            if (writer != null) {
                writer.close();
                storage.delete(writer.path());
            }
        }
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        long records = 0;
        long bytes = 0;
        for (StagedFileWriter writer : writers) {
            if (writer != null) {
                records += writer.count();
                bytes += writer.bytes();
            }
        }
        return WriteMetrics.of(records, bytes, task == 0 ? factory.roomWaitBeforeMillis() : -1);
    }
}
