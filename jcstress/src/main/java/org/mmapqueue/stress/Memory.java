package org.mmapqueue.stress;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Mapped memory for millions of states: one file, mapped once, with blocks that are used in turn. A block is reused
 * long after the iteration that used it has ended. Safe for any number of threads.
 */
public final class Memory {
    /** Bytes of a block. */
    public static final int BLOCK = 8 * 4096;

    private static final int BLOCKS = 1 << 15;
    private static final AtomicLong NEXT = new AtomicLong();
    private static final MappedByteBuffer ALL = map();

    private Memory() {}

    /** Makes a directory below the property {@code stress.dir}; the script that starts this JVM removes it. */
    public static Path directory() {
        try {
            return Files.createTempDirectory(Path.of(System.getProperty("stress.dir")), "stress-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static MappedByteBuffer map() {
        Path file = directory().resolve("memory");
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            Files.delete(file);
            Files.delete(file.getParent());
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) BLOCK * BLOCKS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The next block, with the bytes of its last use. */
    public static MappedByteBuffer take() {
        return ALL.slice((int) (NEXT.getAndIncrement() % BLOCKS) * BLOCK, BLOCK);
    }
}
