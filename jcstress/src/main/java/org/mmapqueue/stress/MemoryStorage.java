package org.mmapqueue.stress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Storage;

/**
 * The files of one small queue in one block of {@link Memory}: its meta page, then its segments. Nothing is ever
 * unmapped, so the limit of mapped segments must allow all of them.
 */
public final class MemoryStorage implements Storage {
    /** Bytes of meta.dat. */
    public static final int META = 4096;
    /** Bytes of a segment. */
    public static final int SEGMENT = 4096;
    /** Number of segments that fit into a block. */
    public static final int SEGMENTS = (Memory.BLOCK - META) / SEGMENT;

    private static final String META_NAME = "meta.dat";

    private final MappedByteBuffer block = Memory.take();
    private final boolean[] exists = new boolean[SEGMENTS];

    /** A storage with a meta page and no segments. */
    public MemoryStorage(byte[] meta) {
        block.put(0, meta);
    }

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        String name = path.getFileName().toString();
        int slot = name.equals(META_NAME) ? -1 : Integer.parseInt(name.substring(0, name.indexOf('_')));
        if (slot >= 0 && !exists[slot]) {
            if (mode != Mode.CREATE) {
                throw new NoSuchFileException(path.toString());
            }
            exists[slot] = true;
        }
        return new MemoryFile(path, slot);
    }

    @Override
    public void createDirectories(Path directory) {}

    @Override
    public boolean delete(Path path) {
        throw new UnsupportedOperationException("delete " + path);
    }

    @Override
    public void syncDirectory(Path directory) {}

    @Override
    public void rename(Path from, Path to) {
        throw new UnsupportedOperationException("rename " + from);
    }

    private final class MemoryFile implements DataFile {
        private final Path path;
        private final int at;
        private final int size;

        MemoryFile(Path path, int slot) {
            this.path = path;
            this.at = slot < 0 ? 0 : META + slot * SEGMENT;
            this.size = slot < 0 ? META : SEGMENT;
        }

        @Override
        public Path path() {
            return path;
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public int read(ByteBuffer target, long position) {
            int length = target.remaining();
            target.put(block.slice(at + (int) position, length));
            return length;
        }

        @Override
        public void write(ByteBuffer source, long position) {
            block.put(at + (int) position, source, source.position(), source.remaining());
        }

        @Override
        public void zeroFill(long length, int blockSize) {
            block.put(at, new byte[(int) length]);
        }

        @Override
        public MappedByteBuffer map(long length, boolean writable) {
            return block.slice(at, (int) length);
        }

        @Override
        public Mapping mapToUnmap(long length, boolean writable) {
            return new Mapping(map(length, writable), () -> {});
        }

        @Override
        public void force() {}

        @Override
        public void force(MappedByteBuffer mapping, int from, int length) {}

        @Override
        public void close() {}
    }
}
