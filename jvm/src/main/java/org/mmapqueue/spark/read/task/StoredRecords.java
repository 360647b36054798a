package org.mmapqueue.spark.read.task;

import org.jspecify.annotations.Nullable;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.spark.read.plan.QueueInputPartition;

/** The stored records of a range. Between calls no segment is pinned. Not thread-safe. */
final class StoredRecords implements RecordSource {
    /** The maximum number of payload bytes of a batch: it stays in a core's cache until Spark has copied it. */
    private static final long BATCH_BYTES = 1 << 20;

    private final RangeReader reader;
    private final long end;

    /**
     * Opens the partition.
     *
     * @param failOnDataLoss whether a record that is no longer retained is an error
     * @param losses counts what is lost; null for no count
     * @throws IllegalStateException when the partition does not exist here
     */
    StoredRecords(QueueInputPartition input, boolean failOnDataLoss, @Nullable LossCount losses) {
        this.reader = new RangeReader(input, failOnDataLoss, losses);
        this.end = input.to();
    }

    @Override
    public boolean next(BatchRows rows) {
        while (reader.next() < end) {
            try {
                long from = reader.next();
                int read = reader.read(records -> rows.take(records, BATCH_BYTES));
                if (read > 0 || reader.next() > from) { // the latter if all records there were lost
                    return reader.next() < end;
                }
                // The range existed when it was planned: either a crash of the machine has lost the end of the log, or
                // files were deleted.
                reader.lose(end, "the queue ends at " + reader.next());
            } catch (ArchiveException e) {
                if (e.missingTo() <= reader.next()) {
                    throw e;
                }
                reader.lose(Math.min(e.missingTo(), end), "files of the archive have vanished: " + e.getMessage());
            } catch (OutOfRangeException e) {
                if (e.last() < e.first()) {
                    reader.lose(end, "nothing is retained any more");
                } else if (e.first() > reader.next()) {
                    reader.lose(Math.min(e.first(), end), "the log starts at offset " + e.first());
                } else {
                    reader.lose(end, "the last offset of the log is " + e.last());
                }
            }
        }
        return false;
    }

    @Override
    public long dropped() {
        return reader.dropped();
    }

    @Override
    public long damaged() {
        return reader.damaged();
    }

    @Override
    public long segments() {
        return reader.segments();
    }

    @Override
    public long waitedMillis() {
        return reader.waitedMillis();
    }

    @Override
    public void close() {
        reader.close();
    }
}
