package org.mmapqueue.spark.read.task;

import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** A range of offsets, for scans without stored columns. Opens no file. Not thread-safe. */
final class OffsetsOnly implements RecordSource {
    private final long to;
    private long next;

    /** Makes a source of a range's offsets. */
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
    public long dropped() {
        return 0;
    }

    @Override
    public long damaged() {
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
