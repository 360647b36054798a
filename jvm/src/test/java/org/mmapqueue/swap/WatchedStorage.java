package org.mmapqueue.swap;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ForwardingFile;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Storage;

/**
 * The disk; a test may do something while a file is being filled, fsynced or deleted. Counts fsynced directories, fsynced
 * files, fsynced parts of mappings, and mappings.
 */
final class WatchedStorage implements Storage {
    /** What a test does in between. */
    @FunctionalInterface
    interface Step {
        void run() throws IOException;
    }

    final AtomicInteger syncedDirectories = new AtomicInteger();
    final AtomicInteger mappings = new AtomicInteger();
    final AtomicInteger syncedParts = new AtomicInteger();
    final AtomicInteger syncedFiles = new AtomicInteger();
    /** In blocks of how many bytes the last file was filled. */
    final AtomicInteger blockSize = new AtomicInteger();

    volatile Step whileSyncingPart = () -> {};
    volatile Step whileSyncingFile = () -> {};
    volatile Step whileFilling = () -> {};
    volatile Step beforeDeleting = () -> {};
    volatile Step beforeSyncingDirectory = () -> {};
    volatile Step beforeClosing = () -> {};
    private final Storage disk = DiskStorage.INSTANCE;

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        return new WatchedFile(disk.open(path, mode));
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        disk.createDirectories(directory);
    }

    @Override
    public void syncDirectory(Path directory) throws IOException {
        beforeSyncingDirectory.run();
        disk.syncDirectory(directory);
        syncedDirectories.incrementAndGet();
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        disk.rename(from, to);
    }

    @Override
    public boolean delete(Path path) throws IOException {
        beforeDeleting.run();
        return disk.delete(path);
    }

    private final class WatchedFile extends ForwardingFile {
        WatchedFile(DataFile file) {
            super(file);
        }

        // Half of it: as another process may find it.
        @Override
        public void zeroFill(long size, int blockSize) throws IOException {
            WatchedStorage.this.blockSize.set(blockSize);
            super.zeroFill(size / 2, blockSize);
            whileFilling.run();
            super.zeroFill(size, blockSize);
        }

        @Override
        public MappedByteBuffer map(long size, boolean writable) throws IOException {
            mappings.incrementAndGet();
            return super.map(size, writable);
        }

        @Override
        public Mapping mapToUnmap(long size, boolean writable) throws IOException {
            mappings.incrementAndGet();
            return super.mapToUnmap(size, writable);
        }

        @Override
        public void close() throws IOException {
            beforeClosing.run();
            super.close();
        }

        @Override
        public void force() throws IOException {
            syncedFiles.incrementAndGet();
            whileSyncingFile.run();
            super.force();
        }

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
            syncedParts.incrementAndGet();
            whileSyncingPart.run();
            super.force(mapping, from, length);
        }
    }
}
