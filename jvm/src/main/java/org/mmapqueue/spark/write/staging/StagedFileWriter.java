package org.mmapqueue.spark.write.staging;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/**
 * Writes rows into a file of blocks. A block has the number of rows (4 bytes, little-endian), the size of all payloads
 * (4), the lengths (4 each), and the payloads back to back. The lengths come first because the push reads them before
 * the payloads. Not thread-safe.
 */
public final class StagedFileWriter implements Closeable {
    /** Size of a block's fields before the lengths, in bytes. */
    static final int HEADER = 8;

    private static final int MOST_IN_BLOCK = 32_768;
    // A header and a timestamp of 8 bytes each, and padding to a multiple of 8.
    private static final int RECORD_OVERHEAD = 16;

    private final int partition;
    private final DataFile file;
    private final CRC32C checksum = new CRC32C();
    private final RowDigest digest = new RowDigest();
    private final int blockBytes;
    private byte[] payload;
    private ByteBuffer head = StagedFiles.buffer(4096);
    private int used;
    private int inBlock;
    private long size;
    private long count;
    private long logBytes;

    /**
     * Creates a file.
     *
     * @param storage the file system
     * @param partition the partition of the rows
     * @param path a file that does not exist
     * @param blockBytes the payload bytes of a block
     */
    public StagedFileWriter(Storage storage, int partition, Path path, int blockBytes) throws IOException {
        this.partition = partition;
        this.blockBytes = blockBytes;
        this.payload = new byte[blockBytes];
        this.file = create(storage, path);
    }

    /** The maximum number of rows that a file of this size can have. */
    static long mostRows(long size) {
        return size / Integer.BYTES;
    }

    /** The maximum number of bytes that the rows of a file can take in the log. */
    static long mostLogBytes(long size, long rows) {
        return size + rows * (RECORD_OVERHEAD + Long.BYTES);
    }

    private static DataFile create(Storage storage, Path path) throws IOException {
        DataFile made = storage.open(path, Storage.Mode.CREATE);
        boolean isNew = false;
        try {
            isNew = made.size() == 0;
        } finally {
            if (!isNew) {
                made.close();
            }
        }
        if (!isNew) {
            throw new FileAlreadyExistsException(path.toString());
        }
        return made;
    }

    /** Ensures that a row fits into {@link #array} at {@link #position}. */
    public void reserve(int length) throws IOException {
        if (length > payload.length - used) {
            if (used > 0) {
                writeBlock();
            }
            if (length > payload.length) {
                payload = new byte[length];
            }
        }
    }

    public byte[] array() {
        return payload;
    }

    public int position() {
        return used;
    }

    /** Adds the bytes stored at {@link #position} as the next row. */
    public void add(int length) throws IOException {
        if (head.remaining() < HEADER + 4) {
            head = StagedFiles.buffer(2 * head.capacity()).put(head.flip());
        }
        if (inBlock == 0) {
            head.position(HEADER);
        }
        head.putInt(length);
        digest.add(payload, used, length);
        used += length;
        inBlock++;
        logBytes += RECORD_OVERHEAD + (length + 7L & -8L);
        if (inBlock == MOST_IN_BLOCK || used >= blockBytes) {
            writeBlock();
        }
    }

    private void writeBlock() throws IOException {
        head.putInt(0, inBlock).putInt(4, used).flip();
        checksum.update(head.array(), 0, head.limit());
        checksum.update(payload, 0, used);
        int headBytes = head.limit();
        file.write(head, size);
        if (used > 0) {
            file.write(ByteBuffer.wrap(payload, 0, used), size + headBytes);
        }
        size += headBytes + used;
        count += inBlock;
        head.clear();
        used = 0;
        inBlock = 0;
    }

    /**
     * Completes the file.
     *
     * @param sync whether to fsync the file
     * @return the description of the file
     */
    public StagedFile finish(boolean sync) throws IOException {
        if (inBlock > 0) {
            writeBlock();
        }
        if (sync) {
            file.force();
        }
        file.close();
        payload = null;
        return new StagedFile(
                partition,
                path().getFileName().toString(),
                size,
                count,
                logBytes,
                (int) checksum.getValue(),
                digest.sum());
    }

    public long count() {
        return count + inBlock;
    }

    public long bytes() {
        return size + used;
    }

    public Path path() {
        return file.path();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
