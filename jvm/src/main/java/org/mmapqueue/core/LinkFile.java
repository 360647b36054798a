package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;

/** A file of a queue's directory: {@code archive.dat}, or that of the next archive. */
record LinkFile(Storage storage, Path file) implements LinkStore {
    /** The file of the archive into which the queue of a directory is shipped. */
    static LinkFile in(Storage storage, Path directory) {
        return new LinkFile(storage, directory.resolve(ArchiveLink.FILE_NAME));
    }

    @Override
    public Optional<ArchiveLink> readLink() throws IOException {
        return ArchiveLink.readFile(storage, file);
    }

    @Override
    public void writeLink(ArchiveLink link) throws IOException {
        link.writeFile(storage, file);
    }
}
