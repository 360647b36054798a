package org.mmapqueue.tool.scan;

/**
 * Tracks the end of the last complete batch of a walk: the records of a batch count only if its last record exists. Not
 * thread-safe.
 */
final class Complete {
    /** The end of the last record that is in no batch, or in a complete one; and the counts of records up to it. */
    private long end;

    private long records;
    private long bytes;
    /** Number of records after that end, tombstones included. */
    private long pending;

    private boolean inBatch;

    /** Counts all records up to this position. */
    void at(long position, WalkResult found) {
        end = position;
        records = found.records;
        bytes = found.payloadBytes;
        pending = 0;
        inBatch = false;
    }

    /** Notes the end of a record, and whether its batch continues. */
    void record(long position, boolean batchContinues, WalkResult found) {
        pending++;
        inBatch = batchContinues;
        if (!batchContinues) {
            at(position, found);
        }
    }

    /** Counts an unfinished batch as complete. */
    void breakBatch() {
        inBatch = false;
    }

    /** The log end, for a walk that ended at this position. */
    long end(long position) {
        return inBatch ? end : position;
    }

    /** Subtracts the records after the last complete batch; returns their number. */
    long cut(WalkResult found) {
        found.records = records;
        found.payloadBytes = bytes;
        return pending;
    }
}
