package org.mmapqueue.segment;

import java.io.IOException;

/** Fsyncs parts of segments to the disk. Any number of threads. */
@FunctionalInterface
public interface SegmentSyncer {

    /**
     * Returns when the bytes {@code from}..{@code to - 1} of a segment, whoever stored them, are on the disk.
     */
    void force(long id, int from, int to) throws IOException;
}
