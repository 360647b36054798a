package org.mmapqueue.spark.write;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.write.staging.StagingArea;

/**
 * Makes the writers of tasks, wherever these run.
 *
 * @param directory where they put their files
 * @param driverHost who has made it, for people
 * @param write tells the files of this write from those of an earlier attempt
 * @param partitions how many the queue has
 * @param maxEventSize bytes of the largest row
 * @param fsync whether the files are to be on the disk
 * @param columns where the rows have what counts
 */
record QueueWriterFactory(
        String directory,
        String driverHost,
        String write,
        int partitions,
        int maxEventSize,
        boolean force,
        WriteColumns columns)
        implements DataWriterFactory, StreamingDataWriterFactory {
    /** What Spark tells its tasks of the way in which a query runs. */
    private static final String CONTINUOUS = "__is_continuous_processing";

    @Override
    public DataWriter<InternalRow> createWriter(int task, long attempt) {
        return createWriter(task, attempt, 0);
    }

    @Override
    public DataWriter<InternalRow> createWriter(int task, long attempt, long epoch) {
        TaskContext context = TaskContext.get();
        if (context != null && "true".equals(context.getLocalProperty(CONTINUOUS))) {
            // Its epochs are not the same when they are done again, and would be taken for done.
            throw new UnsupportedOperationException(
                    "trigger continuous is not supported, use processingTime," + " availableNow or once");
        }
        return new QueueDataWriter(this, DiskStorage.INSTANCE, task, StagingArea.fileName(epoch, write, task, attempt));
    }
}
