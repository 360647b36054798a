package org.mmapqueue.archive.owner;

import java.io.IOException;
import java.util.Optional;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.ArchiveLink;

/** Where a queue keeps the archive into which it is shipped. */
public interface LinkStore {
    /** The link; empty if the queue was never shipped. */
    Optional<ArchiveLink> readLink() throws IOException;

    /** The link; empty if the queue was never shipped, or the link is damaged. */
    default Optional<ArchiveLink> undamaged() throws IOException {
        try {
            return readLink();
        } catch (CorruptException e) {
            return Optional.empty();
        }
    }

    /** Replaces the link, durably. */
    void writeLink(ArchiveLink link) throws IOException;
}
