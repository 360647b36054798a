package org.mmapqueue.archive.owner;

import java.io.IOException;
import java.util.Optional;
import org.mmapqueue.meta.ArchiveLink;

/** Where a queue keeps the archive into which it is shipped. */
public interface LinkStore {
    /** The link; empty if the queue was never shipped. */
    Optional<ArchiveLink> readLink() throws IOException;

    /** Replaces the link, durably. */
    void writeLink(ArchiveLink link) throws IOException;
}
