package org.mmapqueue.swap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.Storage;

/** The disk; a test may do something while a file is being filled or deleted, and counts forced directories. */
final class WatchedStorage implements Storage {
    /** What a test does in between. */
    @FunctionalInterface
    interface Step {
        void run() throws IOException;
    }

    final AtomicInteger forcedDirectories = new AtomicInteger();
    volatile Step whileFilling = () -> { };
    volatile Step beforeDeleting = () -> { };
    volatile Step beforeForcingDirectory = () -> { };
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
    public void forceDirectory(Path directory) throws IOException {
        beforeForcingDirectory.run();
        disk.forceDirectory(directory);
        forcedDirectories.incrementAndGet();
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

    private final class WatchedFile implements DataFile {
        private final DataFile file;

        WatchedFile(DataFile file) {
            this.file = file;
        }

        @Override
        public Path path() {
            return file.path();
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public int read(ByteBuffer target, long position) throws IOException {
            return file.read(target, position);
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            file.write(source, position);
        }

        // Half of it: as another process may find it.
        @Override
        public void zeroFill(long size) throws IOException {
            file.zeroFill(size / 2);
            whileFilling.run();
            file.zeroFill(size);
        }

        @Override
        public MappedByteBuffer map(long size, boolean writable) throws IOException {
            return file.map(size, writable);
        }

        @Override
        public void force() throws IOException {
            file.force();
        }

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
            file.force(mapping, from, length);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
