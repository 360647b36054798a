package org.mmapqueue.spark.read.task;

import java.util.concurrent.TimeUnit;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.RecordReader;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.read.plan.DataLoss;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** The records of a range, as they are stored. Between calls nothing is pinned. For one thread. */
final class StoredRecords implements RecordSource {
    /** Payload of a batch: small enough to stay in a core's cache until Spark has taken it over. */
    private static final long BATCH_BYTES = 1 << 20;

    private final QueueInputPartition input;
    private final boolean failOnDataLoss;
    private final MmapQueue queue;
    private final ReadPermits permits;
    private RecordReader reader;
    private long next;
    private long lost;
    /** Those of readers that are closed. */
    private long segmentsBefore;

    private long waitedNanos;

    /**
     * Opens the partition.
     *
     * @param failOnDataLoss whether records that are not there any more are an error
     * @throws IllegalStateException when it is not there
     */
    StoredRecords(QueueInputPartition input, boolean failOnDataLoss) {
        this.input = input;
        this.failOnDataLoss = failOnDataLoss;
        this.next = input.from();
        this.queue = PartitionHandle.open(input);
        this.permits = ReadPermits.of(queue);
    }

    @Override
    public boolean next(BatchRows rows) {
        while (next < input.to()) {
            try {
                long from = next;
                if (read(rows) > 0 || next > from) { // or passed over marks of lost records alone
                    return next < input.to();
                }
                // There when the range was planned: the end of the log was lost with the machine, or by hand.
                lose(input.to(), "the queue ends at " + next);
            } catch (OutOfRangeException e) {
                closeReader();
                if (e.last() < e.first()) {
                    lose(input.to(), "nothing is retained any more");
                } else if (e.first() > next) {
                    lose(Math.min(e.first(), input.to()), "the first one that is retained is " + e.first());
                } else {
                    lose(input.to(), "the last one that is there is " + e.last());
                }
            }
        }
        return false;
    }

    private int read(BatchRows rows) {
        if (reader == null) {
            reader = queue.reader(next, input.to());
        }
        waitedNanos += permits.acquire();
        try {
            return rows.take(reader, BATCH_BYTES);
        } finally {
            permits.release();
            next = reader.offset();
        }
    }

    private void lose(long to, String why) {
        DataLoss.found(failOnDataLoss, input.directory(), next, to, why);
        lost += to - next;
        next = to;
    }

    @Override
    public long lost() {
        return lost;
    }

    @Override
    public long segments() {
        return segmentsBefore + (reader == null ? 0 : reader.segments());
    }

    @Override
    public long waitedMillis() {
        return TimeUnit.NANOSECONDS.toMillis(waitedNanos);
    }

    private void closeReader() {
        if (reader != null) {
            segmentsBefore += reader.segments();
            reader.close();
            reader = null;
        }
    }

    // Spark asks for the figures once more afterwards.
    @Override
    public void close() {
        closeReader();
        permits.close();
        queue.close();
    }
}
