package org.mmapqueue.stress;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapping;
import org.mmapqueue.io.Storage;

/**
 * The files of one small queue in one block of {@link Memory}: its meta page, the page of its consumer, then its
 * segments. Nothing is ever
 * unmapped, so the limit of mapped segments must allow all of them.
 */
public final class MemoryStorage implements Storage {
    /** Bytes of meta.dat, and of the consumer's page. */
    private static final int PAGE = 4096;
    /** Bytes of a segment. */
    public static final int SEGMENT = 4096;
    /** Number of segments that fit into a block. */
    public static final int SEGMENTS = (Memory.BLOCK - 2 * PAGE) / SEGMENT;

    private static final String META_NAME = "meta.dat";
    private static final String CONSUMER_NAME = "default.dat";

    private final MappedByteBuffer block = Memory.take();
    private final boolean[] exists = new boolean[SEGMENTS];

    /** A storage with a meta page, the page of consumer {@code default}, and no segments. */
    public MemoryStorage(byte[] meta, byte[] consumer) {
        block.put(0, meta);
        block.put(PAGE, consumer);
    }

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        String name = path.getFileName().toString();
        if (name.equals(META_NAME) || name.equals(CONSUMER_NAME)) {
            return new MemoryFile(path, name.equals(META_NAME) ? 0 : PAGE);
        }
        int slot = Integer.parseInt(name.substring(0, name.indexOf('_')));
        if (!exists[slot]) {
            if (mode != Mode.CREATE) {
                throw new NoSuchFileException(path.toString());
            }
            exists[slot] = true;
        }
        return new MemoryFile(path, 2 * PAGE + slot * SEGMENT);
    }

    @Override
    public SortedMap<String, Path> list(Path directory, String suffix) {
        return new TreeMap<>(Map.of("default", directory.resolve(CONSUMER_NAME)));
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

        MemoryFile(Path path, int at) {
            this.path = path;
            this.at = at;
        }

        @Override
        public Path path() {
            return path;
        }

        @Override
        public long size() {
            return SEGMENT; // a page is as large
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
