package org.mmapqueue.spark.read.task;

import java.io.Closeable;

/** The records of a range, in order. For one thread. */
interface RecordSource extends Closeable {

    /**
     * Hands some records on.
     *
     * @param rows gets them
     * @return whether the range may hold more
     */
    boolean next(BatchRows rows);

    /** Records that were not there any more. */
    long lost();

    /** In how many segments it has read. */
    long segments();

    /** Ms that it has waited until a segment could be kept in memory. */
    long waitedMillis();

    @Override
    void close();
}
