package org.mmapqueue.spark.read;

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

    @Override
    void close();
}
