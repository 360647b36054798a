package org.mmapqueue.log;

import java.util.concurrent.atomic.AtomicBoolean;

/** A batch that is reused by one call after the other; concurrent calls get new batches. */
public final class SpareBatch {
    private final RecordBatch batch = new RecordBatch();
    /**
     * A flag, not a reference that is set to null and back: with G1 such a store costs as much as copying a small
     * record.
     */
    private final AtomicBoolean inUse = new AtomicBoolean();

    /** Returns a batch for the caller alone. One thread at a time: the owner's lock guards this call. */
    public RecordBatch take() {
        if (inUse.getAcquire()) {
            return new RecordBatch();
        }
        inUse.setPlain(true);
        return batch;
    }

    /** Returns a batch of {@link #take} for reuse. Any thread, without a lock. */
    public void put(RecordBatch used) {
        used.end();
        if (used == batch) {
            inUse.lazySet(false);
        }
    }
}
