package org.mmapqueue.segment;

import java.io.IOException;

/** Fsyncs parts of segments. Safe for any number of threads. */
@FunctionalInterface
public interface SegmentSyncer {

    /** Makes the bytes {@code from}..{@code to - 1} of a segment durable, whichever process stored them. */
    void force(long id, int from, int to) throws IOException;
}
