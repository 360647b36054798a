package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.function.BiPredicate;

import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.Storage;

/** The disk, but a call fails when a test says so. */
final class FaultyStorage implements Storage {
    /** What is done to a file. */
    enum Call { OPEN, SIZE, READ, WRITE, ZERO_FILL, MAP, FORCE, CREATE_DIRECTORIES, FORCE_DIRECTORY, RENAME, DELETE }

    private final Storage disk;
    private volatile BiPredicate<Call, Path> fails = (call, path) -> false;
    private int calls;

    FaultyStorage() {
        this(DiskStorage.INSTANCE);
    }

    FaultyStorage(Storage disk) {
        this.disk = disk;
    }

    /** Calls for which this says so raise an IOException from now on. */
    void failWhen(BiPredicate<Call, Path> condition) {
        fails = condition;
    }

    void heal() {
        failWhen((call, path) -> false);
    }

    /** The n-th call that may change something fails, and every later one: as if the machine had stopped there. */
    void stopAt(int number) {
        calls = 0;
        failWhen((call, path) -> call != Call.SIZE && call != Call.READ && ++calls >= number);
    }

    private void step(Call call, Path path) throws IOException {
        if (fails.test(call, path)) {
            throw new IOException("injected: " + call + " of " + path.getFileName());
        }
    }

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        step(Call.OPEN, path);
        return new FaultyFile(disk.open(path, mode));
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        step(Call.CREATE_DIRECTORIES, directory);
        disk.createDirectories(directory);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        step(Call.FORCE_DIRECTORY, directory);
        disk.forceDirectory(directory);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        step(Call.RENAME, to);
        disk.rename(from, to);
    }

    @Override
    public boolean delete(Path path) throws IOException {
        step(Call.DELETE, path);
        return disk.delete(path);
    }

    private final class FaultyFile implements DataFile {
        private final DataFile file;

        FaultyFile(DataFile file) {
            this.file = file;
        }

        @Override
        public Path path() {
            return file.path();
        }

        @Override
        public long size() throws IOException {
            step(Call.SIZE, path());
            return file.size();
        }

        @Override
        public int read(ByteBuffer target, long position) throws IOException {
            step(Call.READ, path());
            return file.read(target, position);
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            step(Call.WRITE, path());
            file.write(source, position);
        }

        // A disk that is full takes a part.
        @Override
        public void zeroFill(long size) throws IOException {
            try {
                step(Call.ZERO_FILL, path());
            } catch (IOException e) {
                file.zeroFill(size / 2);
                throw e;
            }
            file.zeroFill(size);
        }

        @Override
        public MappedByteBuffer map(long size, boolean writable) throws IOException {
            step(Call.MAP, path());
            return file.map(size, writable);
        }

        @Override
        public void force() throws IOException {
            step(Call.FORCE, path());
            file.force();
        }

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
            step(Call.FORCE, path());
            file.force(mapping, from, length);
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
