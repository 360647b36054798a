package org.mmapqueue.archive.run;

import java.io.IOException;
import java.util.UUID;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.files.ArchiveFiles;

/**
 * Collects consecutive records of one queue and stores them as one run. Not thread-safe.
 *
 * <pre>{@code
 * RunWriter run = new RunWriter(source.queueId(), ArchiveCodec.NONE);
 * source.read(from, to, maxBytes, run::add);
 * RunName name = run.publish(archive.files(), partition);
 * }</pre>
 */
public final class RunWriter {
    /**
     * A run without records.
     *
     * @param queue the queue of the records
     * @param codec how they are compressed
     */
    public RunWriter(UUID queue, ArchiveCodec codec) {}

    /** Adds a record, the one after the last one added; copies what it needs of it. */
    public void add(StoredRecord record) {
        throw new UnsupportedOperationException();
    }

    /** The number of records. */
    public long count() {
        throw new UnsupportedOperationException();
    }

    /** The bytes of the records, uncompressed. */
    public long bytes() {
        throw new UnsupportedOperationException();
    }

    /**
     * Stores the run. A call after one that has thrown stores the same file, or finds that it is stored already; no
     * record can be added since.
     *
     * @throws IllegalStateException if there is no record
     */
    public RunName publish(ArchiveFiles files, int partition) throws IOException {
        throw new UnsupportedOperationException();
    }
}
