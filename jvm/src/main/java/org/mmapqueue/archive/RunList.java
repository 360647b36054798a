package org.mmapqueue.archive;

import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import org.mmapqueue.archive.run.RunName;

/** The runs of one partition, as listed last. One thread at a time. */
public final class RunList {
    RunList() {}

    /** Lists what can have changed; all the first time. */
    public void refresh() throws IOException {
        throw new UnsupportedOperationException();
    }

    /** The offset of the first record; 0 if there is none. */
    public long firstOffset() {
        throw new UnsupportedOperationException();
    }

    /** The offset after the last record; 0 if there is none. */
    public long endOffset() {
        throw new UnsupportedOperationException();
    }

    /** The runs to read for a range, in order: the longest ones. */
    public List<RunName> cover(long from, long to) {
        throw new UnsupportedOperationException();
    }

    /** All runs, by first offset, the longest first. */
    public List<RunName> all() {
        throw new UnsupportedOperationException();
    }

    /** The first offset of the first run that holds a record of this time or later, by the runs' names. */
    public OptionalLong firstRunAtOrAfter(long micros) {
        throw new UnsupportedOperationException();
    }
}
