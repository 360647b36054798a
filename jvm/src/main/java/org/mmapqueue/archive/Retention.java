package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Duration;

/**
 * Deletes the oldest runs of one partition that all consumers have committed. One thread at a time, and at most one
 * process for each partition: the one that ships it.
 */
public final class Retention {
    /** @param retain how long records are kept at least */
    public Retention(Archive archive, PartitionEntry partition, Duration retain) {}

    /** Lists, and deletes what need not be kept; returns the number of deleted records. */
    public long step() throws IOException {
        throw new UnsupportedOperationException();
    }
}
