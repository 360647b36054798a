package org.mmapqueue.archive;

import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import org.mmapqueue.archive.run.RunName;

/** What a reader sees of a partition: the random access of a queue, over runs. One thread at a time. */
public final class ArchivePartition {
    ArchivePartition() {}

    /** Its number in the archive. */
    public int id() {
        throw new UnsupportedOperationException();
    }

    /** The queue's UUID. */
    public UUID queueId() {
        throw new UnsupportedOperationException();
    }

    /** Lists new runs. */
    public void refresh() {
        throw new UnsupportedOperationException();
    }

    /** The offset of the oldest record; {@link #endOffset} if there is none. */
    public long firstOffset() {
        throw new UnsupportedOperationException();
    }

    /** The offset after the last record. */
    public long endOffset() {
        throw new UnsupportedOperationException();
    }

    /** Estimates the bytes of a range, uncompressed, by the runs' names. */
    public long bytes(long from, long to) {
        throw new UnsupportedOperationException();
    }

    /** Splits a range into parts of about the same size; the offsets of the parts' first records, and at last to. */
    public long[] split(long from, long to, long bytes) {
        throw new UnsupportedOperationException();
    }

    /** The offset of the first record pushed at that time or later; empty if there is none. */
    public OptionalLong find(Instant time) {
        throw new UnsupportedOperationException();
    }

    /** When a record was pushed, µs since 1970; 0 if it has no timestamp. */
    public long timestampMicros(long offset) {
        throw new UnsupportedOperationException();
    }

    /** The runs that hold a range, in order. */
    public List<RunName> runs(long from, long to) {
        throw new UnsupportedOperationException();
    }

    /** The hosts that hold the most of a range; none if all are alike. */
    public List<String> hosts(long from, long to) {
        throw new UnsupportedOperationException();
    }

    /** A reader of a range. */
    public ArchiveReader reader(long from, long to, boolean skipsDamage) {
        throw new UnsupportedOperationException();
    }
}
