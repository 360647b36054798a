package org.mmapqueue.consume;

import java.io.Closeable;
import java.io.IOException;

/**
 * Reads the records that the ring has given up while a consumer needed them, in chunks of consecutive ones. One thread
 * at a time.
 */
public interface OlderRecords extends Closeable {
    /**
     * Reads a chunk; fastest where the last one has ended. May wait for a file system.
     *
     * @param from the first record's offset
     * @return a chunk that begins there, and ends later
     * @throws org.mmapqueue.errors.OutOfRangeException if the archive's retention has deleted the record
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged
     * @throws org.mmapqueue.errors.ArchiveException if no file of the archive has the record
     * @throws IOException if the archive cannot be read at present
     */
    OlderChunk read(long from) throws IOException;

    /** Takes back the memory of a chunk of this reader, which nobody reads any more. */
    void reuse(OlderChunk chunk);
}
