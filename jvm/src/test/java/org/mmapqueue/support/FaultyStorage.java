package org.mmapqueue.support;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiPredicate;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ForwardingFile;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Storage;

/** The disk, with calls that fail as a test requests. */
public final class FaultyStorage implements Storage {
    private volatile long boot = UNKNOWN_BOOT;

    /** What is done to a file. */
    public enum Call {
        OPEN,
        SIZE,
        READ,
        WRITE,
        ZERO_FILL,
        MAP,
        SYNC,
        CREATE_DIRECTORIES,
        SYNC_DIRECTORY,
        RENAME,
        DELETE
    }

    /** How a call fails, and which calls can fail so. */
    public enum Fault {
        /** The device reports an error. */
        INPUT_OUTPUT("Input/output error", EnumSet.allOf(Call.class)),
        /** The disk is full: a part may have been written. */
        NO_SPACE(
                "No space left on device",
                EnumSet.of(Call.OPEN, Call.WRITE, Call.ZERO_FILL, Call.CREATE_DIRECTORIES, Call.RENAME)),
        /** A part is written, and no more. */
        SHORT_WRITE("short write", EnumSet.of(Call.WRITE, Call.ZERO_FILL)),
        /** No address space, or more mappings than vm.max_map_count: as the JDK says it. */
        NO_MAPPING("Map failed", EnumSet.of(Call.MAP));

        private final String text;
        private final Set<Call> calls;

        Fault(String text, Set<Call> calls) {
            this.text = text;
            this.calls = calls;
        }
    }

    private final Storage disk;
    private final AtomicInteger left = new AtomicInteger(-1);
    private volatile Fault fault = Fault.INPUT_OUTPUT;
    private volatile Call failed;
    private final AtomicLong room = new AtomicLong(Long.MAX_VALUE);
    private volatile BiPredicate<Call, Path> fails = (call, path) -> false;
    private int calls;

    public FaultyStorage() {
        this(DiskStorage.INSTANCE);
    }

    public FaultyStorage(Storage disk) {
        this.disk = disk;
    }

    /** Calls that match throw an IOException from now on. */
    public void failWhen(BiPredicate<Call, Path> condition) {
        fails = condition;
    }

    public void heal() {
        failWhen((call, path) -> false);
    }

    /** The n-th call that may change something fails, and every later one: as if the machine had stopped there. */
    public void stopAt(int number) {
        calls = 0;
        failWhen((call, path) -> call != Call.SIZE && call != Call.READ && ++calls >= number);
    }

    /** Of the calls that can fail so, the n-th one from now on does, once; any thread's. */
    public void failOnce(int number, Fault next) {
        fault = next;
        failed = null;
        left.set(number);
    }

    /** The call that has failed once, or null. */
    public Call failed() {
        return failed;
    }

    /** Files can be filled with this many bytes from now on; then the disk is full. */
    public void room(long bytes) {
        room.set(bytes);
    }

    private void step(Call call, Path path) throws IOException {
        if (fault.calls.contains(call) && left.getAndUpdate(now -> Math.max(-1, now - 1)) == 0) {
            failed = call;
            throw new IOException(
                    "injected: " + call + " of " + path.getFileName() + ": " + fault.text,
                    fault == Fault.NO_MAPPING ? new OutOfMemoryError(fault.text) : null);
        }
        if (fails.test(call, path)) {
            throw new IOException("injected: " + call + " of " + path.getFileName());
        }
    }

    /** Sets the boot of the machine, which is unknown otherwise. */
    public void machine(long id) {
        boot = id;
    }

    @Override
    public long boot() {
        return boot;
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
    public void syncDirectory(Path directory) throws IOException {
        step(Call.SYNC_DIRECTORY, directory);
        disk.syncDirectory(directory);
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

    private final class FaultyFile extends ForwardingFile {
        FaultyFile(DataFile file) {
            super(file);
        }

        @Override
        public long size() throws IOException {
            step(Call.SIZE, path());
            return super.size();
        }

        @Override
        public int read(ByteBuffer target, long position) throws IOException {
            step(Call.READ, path());
            return super.read(target, position);
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            try {
                step(Call.WRITE, path());
            } catch (IOException e) {
                if (fault != Fault.INPUT_OUTPUT) {
                    super.write(source.slice(0, source.remaining() / 2), position);
                }
                throw e;
            }
            super.write(source, position);
        }

        // A full disk stores a part.
        @Override
        public void zeroFill(long size, int blockSize) throws IOException {
            try {
                step(Call.ZERO_FILL, path());
            } catch (IOException e) {
                super.zeroFill(size / 2, blockSize);
                throw e;
            }
            // A file reuses its blocks.
            long more = size - Math.min(size, super.size());
            if (room.addAndGet(-more) < 0) {
                room.addAndGet(more);
                throw new IOException("injected: no room for " + more + " bytes of " + path().getFileName());
            }
            super.zeroFill(size, blockSize);
        }

        @Override
        public MappedByteBuffer map(long size, boolean writable) throws IOException {
            step(Call.MAP, path());
            return super.map(size, writable);
        }

        @Override
        public Mapping mapToUnmap(long size, boolean writable) throws IOException {
            step(Call.MAP, path());
            return super.mapToUnmap(size, writable);
        }

        @Override
        public void force() throws IOException {
            step(Call.SYNC, path());
            super.force();
        }

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
            step(Call.SYNC, path());
            super.force(mapping, from, length);
        }
    }
}
