package org.mmapqueue.segment;

import java.io.IOException;
import java.nio.file.Path;

import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/** The segment files of one queue directory, found by id. Has no state; safe for any number of threads. */
public final class SegmentRing {
    private final Storage storage;
    private final Path directory;
    private final Geometry geometry;

    /** The ring in a directory. */
    public SegmentRing(Storage storage, Path directory, Geometry geometry) {
        this.storage = storage;
        this.directory = directory;
        this.geometry = geometry;
    }

    /** The ring's arithmetic. */
    public Geometry geometry() {
        return geometry;
    }

    /** Where a segment lies. */
    public Path path(long id) {
        return directory.resolve(geometry.fileName(id));
    }

    /** The file of a segment's slot, not opened yet. */
    public SlotFile slotFile(long id) {
        return new SlotFile(storage, path(id), geometry.segmentSize());
    }

    /** Makes the entry of a newly made segment file survive a loss of power. */
    public void forceEntries() throws IOException {
        storage.forceDirectory(directory);
    }

    /** Forces a whole segment, mapped or not: a force of the file takes what was stored through any mapping of it. */
    public void force(long id) throws IOException {
        try (DataFile file = storage.open(path(id), Storage.Mode.WRITE)) {
            file.force();
        }
    }
}
