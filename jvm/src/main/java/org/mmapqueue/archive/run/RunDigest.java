package org.mmapqueue.archive.run;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.mmapqueue.StoredRecord;

/** Finds the name that a run of some records has, without keeping them. Not thread-safe. */
public final class RunDigest {
    private final BlockWriter blocks = new BlockWriter(OutputStream.nullOutputStream(), ArchiveCodec.NONE);

    /** Adds a record, the one after the last one added. */
    public void add(StoredRecord record) {
        try {
            blocks.add(record);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // nothing is written
        }
    }

    /** The name of a run of the records that were added, of which there must be some. No record can be added then. */
    public RunName name() {
        try {
            return blocks.complete();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
