package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;
import org.mmapqueue.archive.run.ArchiveCodec;

/**
 * Replaces small runs of one partition by larger ones of the same records. One thread at a time, and at most one
 * process for each partition: the one that ships it.
 */
public final class Compaction {
    /**
     * Nothing is read yet.
     *
     * @param grace how long replaced runs are kept, for readers that planned with them
     */
    public Compaction(Archive archive, PartitionEntry partition, ArchiveCodec codec, Duration grace) {}

    /** Lists, stores at most one run, deletes replaced runs after their grace; returns whether it has done anything. */
    public boolean step() throws IOException {
        throw new UnsupportedOperationException();
    }
}
