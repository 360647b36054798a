package org.mmapqueue.metrics;

import java.util.concurrent.atomic.AtomicLong;

/** Counts records and their bytes. Safe for any number of threads. */
public final class RecordCounter {
    private final AtomicLong records = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();

    /** A counter at 0. */
    public RecordCounter() {}

    /**
     * Counts records.
     *
     * @param number the number of records
     * @param size their bytes
     */
    public void add(long number, long size) {
        records.getAndAdd(number);
        bytes.getAndAdd(size);
    }

    /** {@return the records} */
    public long records() {
        return records.get();
    }

    /** {@return their bytes} */
    public long bytes() {
        return bytes.get();
    }
}
