package org.mmapqueue.tool.scan;

/**
 * How far a log is whole while a walk goes along it: a batch counts only when its last record is there. Not
 * thread-safe.
 */
final class Complete {
    /** Behind the last record that belongs to no batch, or to a whole one; what is there up to it. */
    private long end;

    private long records;
    private long bytes;
    /** Records behind it, tombstones included. */
    private long pending;

    private boolean inBatch;

    /** Everything up to here counts. */
    void at(long position, WalkResult found) {
        end = position;
        records = found.records;
        bytes = found.payloadBytes;
        pending = 0;
        inBatch = false;
    }

    /** A record that ends here, and whether its batch continues behind it. */
    void record(long position, boolean batchContinues, WalkResult found) {
        pending++;
        inBatch = batchContinues;
        if (!batchContinues) {
            at(position, found);
        }
    }

    /** The batch, if there is one, ends without its last record. */
    void breakBatch() {
        inBatch = false;
    }

    /** Where the log ends that is read up to this position. */
    long end(long position) {
        return inBatch ? end : position;
    }

    /** Takes back what is behind the last whole batch. Returns how many records that are. */
    long cut(WalkResult found) {
        found.records = records;
        found.payloadBytes = bytes;
        return pending;
    }
}
