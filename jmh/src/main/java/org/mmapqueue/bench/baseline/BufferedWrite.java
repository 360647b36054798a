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
 * write(2) of 64 KiB at a time into one file that is overwritten repeatedly, so its pages are cached: the rate of a log
 * writer with a buffer. A record in the buffer is lost with the process. No checksum; reading does nothing.
 */
public final class BufferedWrite implements Subject {
    private static final int BUFFER = 64 << 10;
    private static final long MOST_BYTES = 512L << 20;
    private final FileChannel file;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
    private final long size;
    private long position;

    /** Makes the file. */
    public BufferedWrite(Path path, Shape shape) throws IOException {
        Files.createDirectories(path.getParent());
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        size = Math.min(MOST_BYTES, shape.ringBytes());
    }

    @Override
    public Writer writer() {
        return record -> {
            if (buffer.remaining() < record.length) {
                flush();
            }
            buffer.put(record);
            return true;
        };
    }

    @Override
    public Reader reader() {
        return new NoReader();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    private void flush() {
        buffer.flip();
        try {
            while (buffer.hasRemaining()) {
                position += file.write(buffer, position);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        buffer.clear();
        if (position >= size) {
            position = 0;
        }
    }
}
