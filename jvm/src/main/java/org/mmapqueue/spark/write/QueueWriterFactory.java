package org.mmapqueue.spark.write;

import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.write.staging.StagingArea;

/**
 * Makes the writers of tasks; serialized to executors.
 *
 * @param staged the place of staged files
 * @param partitions the number of partitions of the queue
 * @param maxEventSize the limit of a row, in bytes
 * @param sync whether to fsync the files
 * @param columns the positions of the columns in the rows
 * @param roomWaitBeforeMillis how long the micro-batch before waited for room, in ms; -1 for a batch
 */
record QueueWriterFactory(
        Staged staged, int partitions, int maxEventSize, boolean sync, WriteColumns columns, long roomWaitBeforeMillis)
        implements DataWriterFactory, StreamingDataWriterFactory {
    /**
     * The place of staged files.
     *
     * @param directory their directory
     * @param driverHost the host of the driver, which has made it, for error messages
     * @param write distinguishes the files of this write from those of an earlier attempt
     */
    record Staged(String directory, String driverHost, String write) implements Serializable {}

    /** Spark's task property for continuous processing. */
    private static final String CONTINUOUS = "__is_continuous_processing";

    @Override
    public DataWriter<InternalRow> createWriter(int task, long attempt) {
        return createWriter(task, attempt, 0);
    }

    @Override
    public DataWriter<InternalRow> createWriter(int task, long attempt, long epoch) {
        TaskContext context = TaskContext.get();
        if (context != null && "true".equals(context.getLocalProperty(CONTINUOUS))) {
            // A repeated epoch may have other rows than the first time, so a repetition could not be detected.
            throw new UnsupportedOperationException(
                    "trigger continuous is not supported, use processingTime," + " availableNow or once");
        }
        return new QueueDataWriter(
                this, DiskStorage.INSTANCE, task, StagingArea.fileName(epoch, staged.write, task, attempt));
    }
}
