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
import org.mmapqueue.io.Storage;

/**
 * The file of one ring slot, which stays the same in each generation unless it is deleted, and its mapping while there is
 * one. Not thread-safe: the swapper guards it.
 */
public final class SlotFile {
    /**
     * The smallest page there is. Where the zeros made the pages, one fault maps a large block of them; but those that a
     * reader has brought in from the disk are small, and zeros written over them leave them so.
     */
    private static final int TOUCH_STRIDE = 4096;

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

    /** Whether there is a mapping. */
    public boolean isMapped() {
        return mapping != null;
    }

    /**
     * Opens the file of a slot that is about to be filled; makes it when it is not there, and says so: then its
     * directory entry is to be fsynced. One that is too long is made anew: to cut it would take pages away from a
     * process that has it mapped.
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
            // Made below.
        }
        file = storage.open(path, Storage.Mode.CREATE);
        return true;
    }

    /**
     * Fsyncs a file that has its full length, so that it keeps that when power is lost.
     *
     * @return false when it is shorter; nothing was fsynced then
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
     * Maps the file, which must be there in full size: a mapping that reaches behind the end of a file is a SIGBUS.
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
        mapping = file.map(size, writable);
    }

    /** Gives the mapping up for a new one: after an fsync each page of the old one faults at its next store. */
    public void remap(boolean writable) throws IOException {
        MappedByteBuffer old = mapping;
        mapping = null;
        Mapped.unmap(old);
        map(writable);
    }

    /**
     * What fsyncs a part of the mapping, for a caller that sees to it that the mapping stays meanwhile.
     *
     * @param whole whether all of it, and the file's length, are to be fsynced instead
     */
    public Syncing syncing(boolean whole) {
        DataFile synced = file;
        MappedByteBuffer bytes = mapping;
        return (from, to) -> {
            if (whole) {
                synced.force();
            } else {
                synced.force(bytes, from, to - from);
            }
            checkLength(synced);
        };
    }

    // Stores behind the end of a file get lost in silence, and so does fsyncing them.
    private void checkLength(DataFile synced) throws IOException {
        long found = synced.size();
        if (found < size) {
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
        /** Returns when they are on the disk. */
        void force(int from, int to) throws IOException;
    }

    /** Takes the page faults of a new mapping, which holds zeros, away from the writer. */
    public void touch() {
        ByteBuffer bytes = mapping;
        for (int at = 0; at < size; at += TOUCH_STRIDE) {
            Mapped.LONG.setOpaque(bytes, at, 0L);
        }
    }

    /**
     * Takes mapping and descriptor out of this object, which can be opened and mapped again.
     *
     * @return gives both back; nobody may use a segment of this mapping any more by then
     */
    public Closeable detach() {
        MappedByteBuffer oldMapping = mapping;
        DataFile oldFile = file;
        mapping = null;
        file = null;
        return () -> {
            if (oldMapping != null) {
                Mapped.unmap(oldMapping);
            }
            if (oldFile != null) {
                oldFile.close();
            }
        };
    }
}
