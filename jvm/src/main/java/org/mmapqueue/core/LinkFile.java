package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;

/** The file {@code archive.dat} of a queue's directory. */
record LinkFile(Storage storage, Path directory) implements LinkStore {
    @Override
    public Optional<ArchiveLink> readLink() throws IOException {
        return ArchiveLink.read(storage, directory);
    }

    @Override
    public void writeLink(ArchiveLink link) throws IOException {
        link.write(storage, directory);
    }
}
