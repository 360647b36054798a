package org.mmapqueue.segment;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Storage;

/**
 * The file of one ring slot, and its mapping. The file is reused in each generation, until it is deleted. Not
 * thread-safe: the swapper guards it.
 */
public final class SlotFile {
    /**
     * The smallest page size. Pages made by zero-filling are in large folios, which one fault maps as a whole; pages
     * that a reader has loaded from the disk are mapped one by one.
     */
    private static final int TOUCH_STRIDE = 4096;

    private final Storage storage;
    private final Path path;
    private final int size;
    private DataFile file;
    private Mapping mapping;

    /** The file of a slot; nothing is opened yet. */
    public SlotFile(Storage storage, Path path, int size) {
        this.storage = storage;
        this.path = path;
        this.size = size;
    }

    public Path path() {
        return path;
    }

    /** The mapping, or null. */
    public MappedByteBuffer mapping() {
        return mapping == null ? null : mapping.bytes();
    }

    public boolean isMapped() {
        return mapping != null;
    }

    /**
     * Opens the file of a slot that is about to be filled. A file that is too long is replaced by a new one: truncation
     * would take pages away from a process that has it mapped.
     *
     * @return whether the file is new, so that its directory entry needs an fsync
     */
    public boolean openToWrite() throws IOException {
        if (file != null) {
            return false;
        }
        try {
            DataFile found = storage.open(path, Storage.Mode.WRITE);
            boolean fits = false;
            try {
                fits = found.size() <= size;
            } finally {
                if (!fits) {
                    found.close();
                }
            }
            if (fits) {
                file = found;
                return false;
            }
            storage.delete(path);
        } catch (NoSuchFileException e) {
            // Created below.
        }
        file = storage.open(path, Storage.Mode.CREATE);
        return true;
    }

    /**
     * Makes the length of a full file durable.
     *
     * @return false when the file has another length; nothing is fsynced then
     */
    public boolean syncLength() throws IOException {
        if (file.size() != size) {
            return false;
        }
        file.force();
        return true;
    }

    /**
     * Makes the file all zeros and of full size, with its blocks reserved.
     *
     * @param blockSize bytes of a write
     */
    public void fill(int blockSize) throws IOException {
        file.zeroFill(size, blockSize);
    }

    /**
     * Maps the file, which must have its full size: a store beyond the end of a file is a SIGBUS.
     *
     * @throws CorruptException when the file is missing or has another size
     */
    public void map(boolean writable) throws IOException {
        if (file == null) {
            try {
                file = storage.open(path, writable ? Storage.Mode.WRITE : Storage.Mode.READ);
            } catch (NoSuchFileException e) {
                throw new CorruptException(path.toString(), 0, "the segment file is missing");
            }
        }
        long found = file.size();
        if (found != size) {
            throw new CorruptException(
                    path.toString(),
                    Math.min(found, size),
                    "the segment file has " + found + " bytes, expected " + size);
        }
        try {
            mapping = file.mapToUnmap(size, writable);
        } catch (NoSuchFileException e) { // deleted since it was opened
            throw new CorruptException(path.toString(), 0, "the segment file is missing");
        }
    }

    /** Replaces the mapping: after an fsync each page of the old one would fault at its next store. */
    public void remap(boolean writable) throws IOException {
        Mapping old = mapping;
        mapping = null;
        old.unmap();
        map(writable);
    }

    /**
     * Returns an fsync of parts of the mapping. The caller keeps the mapping until the fsync has ended.
     *
     * @param whole whether to fsync the whole file and its length instead
     */
    public Syncing syncing(boolean whole) {
        DataFile synced = file;
        MappedByteBuffer bytes = mapping.bytes();
        return (from, to) -> {
            if (whole) {
                synced.force();
            } else {
                synced.force(bytes, from, to - from);
            }
            checkLength(synced);
        };
    }

    // Stores beyond the end of a file are lost without an error, and so are their fsyncs. Reads the last byte
    // instead of a stat: after a stat, kernels from 6.13 on record a finer time at the next store, and the next fsync
    // writes the inode, too.
    private void checkLength(DataFile synced) throws IOException {
        if (synced.read(ByteBuffer.allocate(1), size - 1L) == 0) {
            long found = synced.size();
            throw new CorruptException(
                    path.toString(),
                    found,
                    "the segment file has " + found + " bytes, expected " + size
                            + ": another process has truncated it while the queue was open");
        }
    }

    /** Fsyncs the bytes {@code from}..{@code to - 1} of a mapping. */
    @FunctionalInterface
    public interface Syncing {
        void force(int from, int to) throws IOException;
    }

    /** Faults in the pages of a new mapping, which holds zeros, so that the writer does not. */
    public void touch() {
        ByteBuffer bytes = mapping.bytes();
        for (int at = 0; at < size; at += TOUCH_STRIDE) {
            Mapped.LONG.setOpaque(bytes, at, 0L);
        }
    }

    /**
     * Detaches mapping and descriptor from this object, which can be opened and mapped again.
     *
     * @return unmaps and closes both; must run after the last use of any segment of this mapping
     */
    public Closeable detach() {
        Mapping oldMapping = mapping;
        DataFile oldFile = file;
        mapping = null;
        file = null;
        return () -> {
            if (oldMapping != null) {
                oldMapping.unmap();
            }
            if (oldFile != null) {
                oldFile.close();
            }
        };
    }
}
