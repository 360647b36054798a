package org.mmapqueue.archive.run;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.mmapqueue.StoredRecord;

/** Computes the name of a run of some records, without keeping the records. Not thread-safe. */
public final class RunDigest {
    private final BlockWriter blocks = new BlockWriter(OutputStream.nullOutputStream(), ArchiveCodec.NONE);

    /** Adds the next record. */
    public void add(StoredRecord record) {
        try {
            blocks.add(record);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: nothing is written
        }
    }

    /**
     * The name of a run of the added records; at least one must have been added. No record can be added after the call.
     *
     * @param epoch the epoch of the run
     */
    public RunName name(long epoch) {
        try {
            return blocks.complete(epoch);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
