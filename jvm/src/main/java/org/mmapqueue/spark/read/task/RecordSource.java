package org.mmapqueue.spark.read.task;

import java.io.Closeable;

/** A source of the records of a range, in order. Not thread-safe. */
interface RecordSource extends Closeable {

    /**
     * Reads some records.
     *
     * @param rows receives the records
     * @return whether the range may hold more
     */
    boolean next(BatchRows rows);

    /** The number of records that are not retained any more. */
    long dropped();

    /** The number of records skipped because of damage. */
    long damaged();

    /** The number of segments read. */
    long segments();

    /** The total wait for read permits, in ms. */
    long waitedMillis();

    @Override
    void close();
}
