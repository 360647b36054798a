package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The storage of one open queue. Files are opened, created and deleted by path, also hours after the open, and somebody
 * may have renamed the directory and put another queue at its path (decision 165). So each call compares a file that
 * keeps its identity while the queue is open, {@code meta.dat}, with the file of that name: a difference fails the call
 * before it changes anything. What is opened and mapped already stays in the renamed directory. As a file does, a
 * directory remembers that an fsync has failed (decision 161). Safe for any number of
 * threads.
 */
public final class PlacedStorage implements Storage {
    private final Storage storage;
    private final Path mark;
    private final Object key;
    private final Supplier<String> now;
    /** Directories with an fsync that has failed, and its error: no later fsync of them succeeds. */
    private final Map<Path, IOException> unsynced = new ConcurrentHashMap<>();

    /**
     * Remembers the identity of an open file.
     *
     * @param storage does the calls
     * @param mark the file, which is open, and is neither replaced nor deleted while the queue is open
     * @param now says what the directory holds, for the error
     */
    public PlacedStorage(Storage storage, Path mark, Supplier<String> now) throws IOException {
        this.storage = storage;
        this.mark = mark;
        this.now = now;
        this.key = keyOf(mark);
    }

    private static Object keyOf(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .fileKey();
    }

    @Override
    public void checkPlace() throws IOException {
        Object found;
        try {
            found = keyOf(mark);
        } catch (NoSuchFileException e) {
            throw moved();
        }
        if (!Objects.equals(found, key)) {
            throw moved();
        }
    }

    private FileSystemException moved() {
        return new FileSystemException(
                mark.getParent().toString(),
                null,
                "the queue that was opened here has been moved, replaced or deleted: " + now.get()
                        + ". Nothing here was changed. Move it back, or close it and open it by its new path");
    }

    // Compared again after the open: the directory may have been exchanged in between.
    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        checkPlace();
        DataFile file = storage.open(path, mode);
        boolean done = false;
        try {
            checkPlace();
            done = true;
            return file;
        } finally {
            if (!done) {
                file.close();
            }
        }
    }

    @Override
    public int blockSize(long size) {
        return storage.blockSize(size);
    }

    @Override
    public long boot() {
        return storage.boot();
    }

    @Override
    public SortedMap<String, Path> list(Path directory, String suffix) throws IOException {
        SortedMap<String, Path> found = storage.list(directory, suffix);
        checkPlace();
        return found;
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        checkPlace();
        try {
            storage.createDirectories(directory);
        } catch (FailedSync e) { // the directory exists now, but its name is not durable
            unsynced.putIfAbsent(directory, e);
            unsynced.putIfAbsent(directory.getParent(), e);
            throw e;
        }
    }

    @Override
    public boolean delete(Path path) throws IOException {
        checkPlace();
        return storage.delete(path);
    }

    @Override
    public void syncDirectory(Path directory) throws IOException {
        checkPlace();
        IOException first = unsynced.get(directory);
        if (first != null) {
            throw new IOException(
                    "an earlier fsync of " + directory + " has failed, so its entries may be lost with the power: "
                            + first + ". Close the queue and open it again",
                    first);
        }
        try {
            storage.syncDirectory(directory);
        } catch (FailedSync e) {
            unsynced.putIfAbsent(directory, e);
            throw e;
        }
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        checkPlace();
        storage.rename(from, to);
    }
}
