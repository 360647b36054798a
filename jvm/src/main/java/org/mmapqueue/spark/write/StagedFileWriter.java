package org.mmapqueue.spark.write;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/**
 * Writes rows into a file of blocks: count (4 bytes, little-endian), bytes of payload (4), the lengths (4 each), the
 * payloads back to back. The lengths stand together, as they are asked for before the payloads. One thread.
 */
final class StagedFileWriter implements Closeable {
    /** What comes before the lengths. */
    static final int HEADER = 8;

    private static final int MOST_IN_BLOCK = 32_768;
    // A header and a timestamp of 8 bytes each, and up to 7 to a multiple of 8.
    private static final int RECORD_OVERHEAD = 16;

    private final int partition;
    private final Path file;
    private final FileChannel channel;
    private final CRC32C checksum = new CRC32C();
    private final int blockBytes;
    private byte[] payload;
    private ByteBuffer head = StagedFiles.buffer(4096);
    private int used;
    private int inBlock;
    private long size;
    private long count;
    private long logBytes;

    /**
     * Begins a file.
     *
     * @param partition where its rows go
     * @param file must not be there
     * @param blockBytes bytes of payload that are written at once
     */
    StagedFileWriter(int partition, Path file, int blockBytes) throws IOException {
        this.partition = partition;
        this.file = file;
        this.blockBytes = blockBytes;
        this.payload = new byte[blockBytes];
        this.channel = StagedFiles.create(file);
    }

    /** Sees to it that there is room for a row at {@link #position} of {@link #array}. */
    void reserve(int length) throws IOException {
        if (length > payload.length - used) {
            if (used > 0) {
                writeBlock();
            }
            if (length > payload.length) {
                payload = new byte[length];
            }
        }
    }

    byte[] array() {
        return payload;
    }

    int position() {
        return used;
    }

    /** Takes what has been stored at {@link #position} for the next row. */
    void add(int length) throws IOException {
        if (head.remaining() < HEADER + 4) {
            head = StagedFiles.buffer(2 * head.capacity()).put(head.flip());
        }
        if (inBlock == 0) {
            head.position(HEADER);
        }
        head.putInt(length);
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
        size += head.limit() + used;
        count += inBlock;
        ByteBuffer[] both = {head, ByteBuffer.wrap(payload, 0, used)};
        while (both[1].hasRemaining() || both[0].hasRemaining()) {
            channel.write(both);
        }
        head.clear();
        used = 0;
        inBlock = 0;
    }

    /**
     * Ends the file.
     *
     * @param force whether it is to be on the disk
     * @return what tells it
     */
    StagedFile finish(boolean force) throws IOException {
        if (inBlock > 0) {
            writeBlock();
        }
        if (force) {
            channel.force(true);
        }
        channel.close();
        payload = null;
        return new StagedFile(partition, file.getFileName().toString(), size, count, logBytes,
                (int) checksum.getValue());
    }

    long count() {
        return count + inBlock;
    }

    long bytes() {
        return size + used;
    }

    Path file() {
        return file;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
