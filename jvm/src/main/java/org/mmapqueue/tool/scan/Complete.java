package org.mmapqueue.tool.scan;

/**
 * The end of the last whole batch of a walk: the records of a batch count only with its last record. Not thread-safe.
 */
final class Complete {
    /** The end of the last record that is in no batch, or in a whole one; the records up to it. */
    private long end;

    private long records;
    private long bytes;
    /** Records after it, tombstones included. */
    private long pending;

    private boolean inBatch;

    /** All records up to here count. */
    void at(long position, WalkResult found) {
        end = position;
        records = found.records;
        bytes = found.payloadBytes;
        pending = 0;
        inBatch = false;
    }

    /** A record ends here; its batch continues or not. */
    void record(long position, boolean batchContinues, WalkResult found) {
        pending++;
        inBatch = batchContinues;
        if (!batchContinues) {
            at(position, found);
        }
    }

    /** An unfinished batch counts as finished. */
    void breakBatch() {
        inBatch = false;
    }

    /** The log end, for a walk that ended at this position. */
    long end(long position) {
        return inBatch ? end : position;
    }

    /** Subtracts the records after the last whole batch; returns how many. */
    long cut(WalkResult found) {
        found.records = records;
        found.payloadBytes = bytes;
        return pending;
    }
}
