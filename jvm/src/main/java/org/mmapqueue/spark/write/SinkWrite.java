package org.mmapqueue.spark.write;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.spark.write.sink.SinkDisk;
import org.mmapqueue.spark.write.sink.SinkQueue;
import org.mmapqueue.spark.write.sink.SinkQueues;
import org.mmapqueue.spark.write.sink.WriteOptions;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedTask;

/** One write on the driver, from planning to commit or abort. Not thread-safe. */
final class SinkWrite {
    private final WriteOptions options;
    private final WriteColumns columns;
    private final String query;
    private final Duration linger;
    private final SinkDisk disk;
    private SinkQueues.Lease lease;

    /**
     * Makes a write, without opening the queue.
     *
     * @param query the id of the query
     * @param linger how long the queue stays open after the write
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

    /** Begins a batch; see {@link #begin(long)}. */
    QueueWriterFactory beginBatch() {
        return begin(-1);
    }

    /** Begins an epoch; see {@link #begin(long)}. A task reports how long the epoch before waited for room. */
    QueueWriterFactory beginEpoch() {
        return begin(options.push().figures().roomWaitBeforeMillis());
    }

    /**
     * Opens the queue and makes the staging directory.
     *
     * @return the factory of the tasks' writers
     */
    private QueueWriterFactory begin(long roomWaitBeforeMillis) {
        return attempt(() -> {
            lease = SinkQueues.acquire(options.path(), query, options.config(), options.push(), linger, disk);
            SinkQueue queue = lease.queue();
            boolean sync = options.push().sync();
            boolean done = false;
            try {
                Path directory = queue.staging().make(query);
                String write = UUID.randomUUID().toString().substring(0, 8);
                done = true;
                return new QueueWriterFactory(
                        new QueueWriterFactory.Staged(directory.toString(), Hosts.own(), write),
                        queue.count(),
                        queue.maxEventSize(),
                        queue.syncsStagedFiles(sync),
                        columns,
                        roomWaitBeforeMillis);
            } finally {
                if (!done) {
                    end();
                }
            }
        });
    }

    void commitBatch(WriterCommitMessage[] messages) {
        attempt(() -> {
            lease.queue().commitBatch(query, files(messages), options.push());
            end();
            return null;
        });
    }

    void commitEpoch(long epoch, WriterCommitMessage[] messages) {
        attempt(() -> {
            lease.queue().commitEpoch(query, epoch, files(messages), options.push());
            end();
            return null;
        });
    }

    /** Deletes staged rows, unless some partitions have already received theirs. Also called after a failed commit. */
    void abort() {
        if (lease == null) {
            return;
        }
        attempt(() -> {
            try {
                lease.queue().discard(query);
            } finally {
                end();
            }
            return null;
        });
    }

    /** Queue and query, as a plan shows the write. */
    @Override
    public String toString() {
        return "mmapqueue " + options.path() + " (producer " + SinkQueue.producer(query) + ")";
    }

    private void end() {
        lease.close();
        lease = null;
    }

    private static List<StagedFile> files(WriterCommitMessage[] messages) {
        List<StagedFile> files = new ArrayList<>();
        for (WriterCommitMessage message : messages) {
            files.addAll(((StagedTask) message).files());
        }
        return files;
    }

    private <T> T attempt(Step<T> step) {
        try {
            return step.run();
        } catch (IOException e) {
            throw new UncheckedIOException("writing " + options.path() + " failed: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            throw StoppedQuery.interrupted(options.path() + " was written", e);
        }
    }
}
