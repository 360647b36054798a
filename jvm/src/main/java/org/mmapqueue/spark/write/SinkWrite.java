package org.mmapqueue.spark.write;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.write.sink.SinkDisk;
import org.mmapqueue.spark.write.sink.SinkQueue;
import org.mmapqueue.spark.write.sink.SinkQueues;
import org.mmapqueue.spark.write.sink.WriteOptions;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedTask;

/**
 * One write on the driver, from when its tasks are planned to when their rows are pushed or given up. Used by one
 * thread at a time.
 */
final class SinkWrite {
    private final WriteOptions options;
    private final WriteColumns columns;
    private final String query;
    private final Duration linger;
    private final SinkDisk disk;
    private SinkQueues.Lease lease;

    /**
     * A write that has not begun.
     *
     * @param query its id
     * @param linger how long the queue stays open afterwards
     */
    SinkWrite(WriteOptions options, WriteColumns columns, String query, Duration linger) {
        this(options, columns, query, linger, SinkDisk.REAL);
    }

    SinkWrite(WriteOptions options, WriteColumns columns, String query, Duration linger, SinkDisk disk) {
        this.options = options;
        this.columns = columns;
        this.query = query;
        this.linger = linger;
        this.disk = disk;
    }

    private interface Step<T> {
        T run() throws IOException, InterruptedException;
    }

    /**
     * Opens the queue and makes the directory for the tasks.
     *
     * @return makes their writers
     */
    QueueWriterFactory begin() {
        return told(() -> {
            lease = SinkQueues.acquire(options.path(), query, options.config(), options.push(), linger, disk);
            SinkQueue queue = lease.queue();
            boolean sync = options.push().sync();
            boolean done = false;
            try {
                Path directory = queue.staging().make(query);
                String write = UUID.randomUUID().toString().substring(0, 8);
                done = true;
                return new QueueWriterFactory(
                        directory.toString(),
                        Hosts.own(),
                        write,
                        queue.count(),
                        queue.maxEventSize(),
                        queue.syncsStagedFiles(sync),
                        columns);
            } finally {
                if (!done) {
                    end();
                }
            }
        });
    }

    void commitBatch(WriterCommitMessage[] messages) {
        told(() -> {
            lease.queue().commitBatch(query, files(messages), options.push());
            end();
            return null;
        });
    }

    void commitEpoch(long epoch, WriterCommitMessage[] messages) {
        told(() -> {
            lease.queue().commitEpoch(query, epoch, files(messages), options.push());
            end();
            return null;
        });
    }

    /** Gives staged rows up, unless some partitions have got theirs. Comes after a commit that has failed, too. */
    void abort(WriterCommitMessage[] messages) {
        if (lease == null) {
            return;
        }
        told(() -> {
            try {
                lease.queue().discard(query, files(messages));
            } finally {
                end();
            }
            return null;
        });
    }

    private void end() {
        lease.close();
        lease = null;
    }

    private static List<StagedFile> files(WriterCommitMessage[] messages) {
        List<StagedFile> files = new ArrayList<>();
        for (WriterCommitMessage message : messages) {
            if (message instanceof StagedTask task) { // null for a task that has failed
                files.addAll(task.files());
            }
        }
        return files;
    }

    private <T> T told(Step<T> step) {
        try {
            return step.run();
        } catch (IOException e) {
            throw new UncheckedIOException("writing " + options.path() + " failed: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            InterruptedIOException cause =
                    new InterruptedIOException("interrupted while " + options.path() + " was written");
            cause.initCause(e);
            throw new UncheckedIOException(cause); // which Spark takes for the end of a query that is stopped
        }
    }
}
