package org.mmapqueue.segment;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Storage;

/**
 * The file of one ring slot, which stays the same lap after lap, and its mapping while there is one. Not thread-safe:
 * the swapper guards it; only {@link #fill} may run beside other calls for the same slot.
 */
public final class SlotFile {
    private static final int PAGE = 4096;

    private final Storage storage;
    private final Path path;
    private final int size;
    private DataFile file;
    private MappedByteBuffer mapping;

    /** The file of a slot; nothing is opened yet. */
    public SlotFile(Storage storage, Path path, int size) {
        this.storage = storage;
        this.path = path;
        this.size = size;
    }

    /** Where the file is. */
    public Path path() {
        return path;
    }

    /** The mapping, or null. */
    public MappedByteBuffer mapping() {
        return mapping;
    }

    /** Opens the file; makes it when it is not there. */
    public void openToWrite() throws IOException {
        if (file == null) {
            file = storage.open(path, Storage.Mode.CREATE);
        }
    }

    /** Makes the file all zeros and of full size, with its blocks reserved. */
    public void fill() throws IOException {
        file.zeroFill(size);
    }

    /**
     * Maps the file, which must be there in full size: a mapping that reaches behind the end of a file is a SIGBUS.
     *
     * @throws CorruptException when the file has another size
     */
    public void map(boolean writable) throws IOException {
        if (file == null) {
            file = storage.open(path, writable ? Storage.Mode.WRITE : Storage.Mode.READ);
        }
        long found = file.size();
        if (found != size) {
            throw new CorruptException(path.toString(), Math.min(found, size),
                    "the segment file has " + found + " bytes, expected " + size);
        }
        mapping = file.map(size, writable);
    }

    /**
     * Stores a zero into each page of a mapping that is known to hold zeros, so that the page faults are taken here
     * and not by the writer.
     */
    public void touch() {
        ByteBuffer bytes = mapping;
        for (int at = 0; at < size; at += PAGE) {
            Mapped.LONG.setOpaque(bytes, at, 0L);
        }
    }

    /** Gives mapping and descriptor back. Nobody may use a segment of this slot any more. */
    public void release() throws IOException {
        if (mapping != null) {
            Mapped.unmap(mapping);
            mapping = null;
        }
        if (file != null) {
            file.close();
            file = null;
        }
    }

    /** Whether {@link #release} would give a mapping back. */
    public boolean isMapped() {
        return mapping != null;
    }
}
