package org.mmapqueue.archive;

import java.util.List;
import java.util.UUID;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.RecordSink;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;

/** Reads the records of a range of one partition in order, as a queue's RecordReader does. One thread at a time. */
public final class ArchiveReader implements AutoCloseable {
    private ArchiveReader() {}

    /**
     * A reader of runs that were listed elsewhere, for a task: it lists only when one of them does not exist any more.
     *
     * @param files the archive's files; the caller closes them after the reader
     * @param partition the partition's number
     * @param queue the queue's UUID
     * @param runs the runs that hold the range, as {@link ArchivePartition#runs} has returned them
     * @param from the first record's offset
     * @param to the offset after the last record
     * @param skipsDamage whether to continue after damage instead of throwing CorruptException
     */
    public static ArchiveReader of(
            ArchiveFiles files,
            int partition,
            UUID queue,
            List<RunName> runs,
            long from,
            long to,
            boolean skipsDamage) {
        throw new UnsupportedOperationException();
    }

    /** The offset of the next record to read; the range's end after the last one. */
    public long offset() {
        throw new UnsupportedOperationException();
    }

    /** The number of records that were skipped because of damage. */
    public long lost() {
        throw new UnsupportedOperationException();
    }

    /** The damaged ranges that were skipped, the latest thousand. */
    public List<DamagedRange> damagedRanges() {
        throw new UnsupportedOperationException();
    }

    /** The number of runs read so far. */
    public long runs() {
        throw new UnsupportedOperationException();
    }

    /** Reads records without an allocation for each; see {@link org.mmapqueue.MessageHandler}. */
    public int read(int maxRecords, long maxBytes, MessageHandler handler) {
        throw new UnsupportedOperationException();
    }

    /** Reads records, each into an array of its own. */
    public int read(int maxRecords, long maxBytes, RecordSink sink) {
        throw new UnsupportedOperationException();
    }

    /** Closes the file that is open; a second close does nothing. */
    @Override
    public void close() {
        // nothing yet
    }
}
