package org.mmapqueue.spark.read.task;

import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** A range of offsets, for scans that ask for nothing that is stored: opens no file. For one thread. */
final class OffsetsOnly implements RecordSource {
    private final long to;
    private long next;

    /** The offsets of a range. */
    OffsetsOnly(QueueInputPartition input) {
        next = input.from();
        to = input.to();
    }

    @Override
    public boolean next(BatchRows rows) {
        int count = (int) Math.min(to - next, rows.room());
        rows.offsets(next, count);
        next += count;
        return next < to;
    }

    @Override
    public long lost() {
        return 0;
    }

    @Override
    public long segments() {
        return 0;
    }

    @Override
    public long waitedMillis() {
        return 0;
    }

    @Override
    public void close() {
        // nothing is open
    }
}
