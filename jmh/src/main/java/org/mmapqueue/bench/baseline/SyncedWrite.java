package org.mmapqueue.bench.baseline;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;

/**
 * write(2) and fdatasync(2) for each record: the least cost of a durable push that shares no fsync. The file was filled
 * before, so an fsync stores neither size nor blocks. Not thread-safe; reading does nothing.
 */
public final class SyncedWrite implements Subject {
    private static final int BLOCK = 1 << 20;
    private static final long BYTES = 64 << 20;
    private final FileChannel file;
    private final ByteBuffer buffer;
    private long position;

    /** Makes the file and fills it. */
    public SyncedWrite(Path path, Shape shape) throws IOException {
        Files.createDirectories(path.getParent());
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        buffer = ByteBuffer.allocateDirect(shape.payload());
        ByteBuffer zeros = ByteBuffer.allocateDirect(BLOCK);
        for (long at = 0; at < BYTES; at += BLOCK) {
            zeros.clear();
            while (zeros.hasRemaining()) {
                file.write(zeros, at + zeros.position());
            }
        }
        file.force(true);
    }

    @Override
    public Writer writer() {
        return new Writer() {
            @Override
            public boolean push(byte[] record) {
                throw new UnsupportedOperationException("each record is fsynced");
            }

            @Override
            public boolean pushSync(byte[] record) {
                store(record);
                return true;
            }
        };
    }

    private void store(byte[] record) {
        if (position + record.length > BYTES) {
            position = 0;
        }
        buffer.clear();
        buffer.put(record).flip();
        try {
            while (buffer.hasRemaining()) {
                position += file.write(buffer, position);
            }
            file.force(false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Reader reader() {
        return new NoReader();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
