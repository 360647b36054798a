package org.mmapqueue.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ForwardingFile;
import org.mmapqueue.io.Storage;

/**
 * The disk, with a record of what was fsynced. A loss of power leaves that, and any sectors of everything else. An entry
 * of a directory survives if the directory was fsynced after its creation; a deleted one may reappear if the directory
 * was not fsynced since.
 *
 * <p>An fsync of a part of a mapping makes a new file as long as that part, and no longer, as ext4 and XFS do with
 * delayed allocation. Thread-safe.
 */
public final class PowerLossStorage implements Storage {
    private static final int SECTOR = 512;
    private static final int PAGE = 4096;

    private final Storage disk;
    /** The fsynced contents of each file. */
    private final Map<Path, byte[]> synced = new HashMap<>();

    private final Set<Path> entries = new HashSet<>();
    /** Pages of each file that were dropped, as they are in memory, by number. */
    private final Map<Path, Map<Integer, byte[]>> dropped = new HashMap<>();
    /** The fsynced contents of deleted files with an entry that may reappear. */
    private final Map<Path, byte[]> unlinked = new HashMap<>();

    public PowerLossStorage() {
        this(DiskStorage.INSTANCE);
    }

    /** @param disk holds the files; its fsyncs may fail */
    public PowerLossStorage(Storage disk) {
        this.disk = disk;
    }

    private synchronized void sync(Path path, int from, int to) {
        byte[] now = Directories.read(path);
        byte[] before = synced.getOrDefault(path, new byte[0]);
        int start = from / PAGE * PAGE;
        int end = Math.min(now.length, (to + PAGE - 1) / PAGE * PAGE);
        byte[] after = Arrays.copyOf(before, Math.max(before.length, end));
        for (int at = start; at < end; at += PAGE) {
            byte[] page = Arrays.copyOfRange(now, at, Math.min(end, at + PAGE));
            if (!Arrays.equals(page, droppedOf(path).get(at / PAGE))) {
                System.arraycopy(page, 0, after, at, page.length);
            }
        }
        synced.put(path, after);
    }

    private Map<Integer, byte[]> droppedOf(Path path) {
        return dropped.computeIfAbsent(path, key -> new HashMap<>());
    }

    /**
     * The kernel could not write the pages of a file that were not fsynced. It keeps them in memory, and counts them as
     * written: a later fsync writes only those that have changed since, or are written again.
     */
    public synchronized void drop(Path path) {
        byte[] now = Directories.read(path);
        byte[] before = Arrays.copyOf(synced.getOrDefault(path, new byte[0]), now.length);
        for (int at = 0; at < now.length; at += PAGE) {
            byte[] page = Arrays.copyOfRange(now, at, Math.min(now.length, at + PAGE));
            if (!Arrays.equals(page, Arrays.copyOfRange(before, at, at + page.length))) {
                droppedOf(path).put(at / PAGE, page);
            }
        }
    }

    private synchronized void written(Path path, long position, int length) {
        for (long page = position / PAGE; page * PAGE < position + length; page++) {
            droppedOf(path).remove((int) page);
        }
    }

    /** Takes a directory as fsynced. */
    public synchronized void adopt(Path directory) {
        for (Path file : files(directory)) {
            synced.put(file, Directories.read(file));
            entries.add(file);
        }
    }

    /** The state of the disk for a copy of the directory, after the process was killed: the page cache remains. */
    public PowerLossStorage killed(Path directory, Path copy) {
        PowerLossStorage next = new PowerLossStorage();
        synced.forEach((file, bytes) ->
                next.synced.put(copy.resolve(directory.relativize(file).toString()), bytes));
        entries.forEach(
                file -> next.entries.add(copy.resolve(directory.relativize(file).toString())));
        unlinked.forEach((file, bytes) ->
                next.unlinked.put(copy.resolve(directory.relativize(file).toString()), bytes));
        return next;
    }

    /** The kernel writes some pages back, as it may at any time. */
    public synchronized void writeBack(Path directory, SplittableRandom random) {
        for (Path file : files(directory)) {
            int length = Directories.read(file).length;
            for (int at = 0; at < length; at += PAGE) {
                if (random.nextInt(4) == 0) {
                    sync(file, at, at + 1);
                }
            }
        }
    }

    private static List<Path> files(Path directory) {
        try (var all = Files.walk(directory)) {
            return all.filter(Files::isRegularFile)
                    .filter(file -> !file.toString().endsWith("lock"))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Writes what a loss of power leaves now into another directory.
     *
     * @param percent the probability that a sector that was not fsynced survives
     */
    public synchronized Path lose(Path directory, Path result, SplittableRandom random, int percent)
            throws IOException {
        Files.createDirectories(result);
        for (Map.Entry<Path, byte[]> old : unlinked.entrySet()) {
            if (old.getKey().startsWith(directory) && random.nextInt(100) >= percent) {
                Path target = result.resolve(directory.relativize(old.getKey()).toString());
                Files.createDirectories(target.getParent());
                Files.write(target, old.getValue());
            }
        }
        for (Path file : files(directory)) {
            if (!entries.contains(file) && random.nextInt(100) >= percent) {
                continue;
            }
            byte[] now = Directories.read(file);
            byte[] then = synced.getOrDefault(file, new byte[0]);
            byte[] left = Arrays.copyOf(then, random.nextInt(100) < percent ? now.length : then.length);
            for (int at = 0; at < left.length; at += SECTOR) {
                if (random.nextInt(100) < percent) {
                    System.arraycopy(now, at, left, at, Math.min(SECTOR, left.length - at));
                }
            }
            Path target = result.resolve(directory.relativize(file).toString());
            Files.createDirectories(target.getParent());
            Files.write(target, left);
        }
        return result;
    }

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        return new TrackedFile(disk.open(path, mode));
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        disk.createDirectories(directory);
    }

    @Override
    public synchronized void syncDirectory(Path directory) throws IOException {
        disk.syncDirectory(directory);
        entries.addAll(files(directory).stream()
                .filter(file -> file.getParent().equals(directory))
                .toList());
        unlinked.keySet().removeIf(file -> file.getParent().equals(directory));
    }

    @Override
    public synchronized void rename(Path from, Path to) throws IOException {
        disk.rename(from, to);
        byte[] platter = synced.remove(from);
        synced.put(to, platter == null ? new byte[0] : platter);
        entries.remove(from);
        dropped.remove(to);
    }

    @Override
    public synchronized boolean delete(Path path) throws IOException {
        boolean deleted = disk.delete(path);
        byte[] platter = synced.remove(path);
        dropped.remove(path);
        if (entries.remove(path)) {
            unlinked.put(path, platter == null ? new byte[0] : platter);
        }
        return deleted;
    }

    private final class TrackedFile extends ForwardingFile {
        TrackedFile(DataFile file) {
            super(file);
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            int length = source.remaining();
            super.write(source, position);
            written(path(), position, length);
        }

        @Override
        public void zeroFill(long size, int blockSize) throws IOException {
            super.zeroFill(size, blockSize);
            written(path(), 0, (int) size);
        }

        @Override
        public void force() throws IOException {
            super.force();
            PowerLossStorage.this.sync(path(), 0, Integer.MAX_VALUE - PAGE);
        }

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
            super.force(mapping, from, length);
            PowerLossStorage.this.sync(path(), from, from + length);
        }
    }
}
