package org.mmapqueue.io;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;

/**
 * A file with one descriptor from the open to the close, which no interrupt closes. A mapping is made through a {@link
 * FileChannel} of its own, since no other channel maps.
 */
final class DiskFile implements DataFile {
    private static final ByteBuffer ZEROS =
            ByteBuffer.allocateDirect(Storage.LARGEST_BLOCK).asReadOnlyBuffer();

    private final Path path;
    private final boolean writable;
    private final AsynchronousFileChannel channel;
    /** What identifies the file in its file system; null if the file system has no such key. */
    private final Object key;
    /** The first failure of an fsync, or null. */
    private volatile IOException failure;

    DiskFile(Path path, Storage.Mode mode, FileMode fileMode) throws IOException {
        this.path = path;
        this.writable = mode != Storage.Mode.READ;
        AsynchronousFileChannel made = mode == Storage.Mode.CREATE ? create(fileMode) : null;
        // Before the open: opening a FIFO would wait for its other end.
        this.key = keyOfRegularFile(made);
        this.channel = made != null ? made : Descriptors.open(path, options());
    }

    // Returns null if the file exists, which keeps its permissions.
    private AsynchronousFileChannel create(FileMode fileMode) throws IOException {
        try {
            Set<OpenOption> options = options();
            options.add(StandardOpenOption.CREATE_NEW);
            AsynchronousFileChannel made = Descriptors.open(path, options, fileMode.ofNewFile());
            try {
                fileMode.setOnFile(path);
                return made;
            } catch (IOException | RuntimeException | Error e) {
                made.close();
                throw e;
            }
        } catch (FileAlreadyExistsException e) {
            return null;
        }
    }

    private Object keyOfRegularFile(AsynchronousFileChannel made) throws IOException {
        boolean done = false;
        try {
            Object found = RegularFile.check(path).fileKey();
            done = true;
            return found;
        } finally {
            if (!done && made != null) {
                made.close();
            }
        }
    }

    private BasicFileAttributes attributes() throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private Set<OpenOption> options() {
        Set<OpenOption> options = new HashSet<>();
        options.add(StandardOpenOption.READ);
        options.add(LinkOption.NOFOLLOW_LINKS);
        if (writable) {
            options.add(StandardOpenOption.WRITE);
        }
        return options;
    }

    @Override
    public Path path() {
        return path;
    }

    @Override
    public long size() throws IOException {
        return channel.size();
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
        int done = 0;
        while (target.hasRemaining()) {
            int count = Descriptors.result(channel.read(target, position + done));
            if (count < 0) {
                break;
            }
            done += count;
        }
        return done;
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
        long at = position;
        while (source.hasRemaining()) {
            at += Descriptors.result(channel.write(source, at));
        }
    }

    @Override
    public void zeroFill(long size, int blockSize) throws IOException {
        long done = 0;
        while (done < size) {
            ByteBuffer block = ZEROS.duplicate();
            block.limit((int) Math.min(blockSize, size - done));
            done += Descriptors.result(channel.write(block, done));
        }
    }

    @Override
    public MappedByteBuffer map(long size, boolean toWrite) throws IOException {
        return mapped(file -> file.map(mapMode(toWrite), 0, size));
    }

    @Override
    public Mapping mapToUnmap(long size, boolean toWrite) throws IOException {
        return mapped(file -> Mapping.of(file, mapMode(toWrite), size));
    }

    private static FileChannel.MapMode mapMode(boolean toWrite) {
        return toWrite ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY;
    }

    private interface MapCall<T> {
        T on(FileChannel file) throws IOException;
    }

    // An interrupt closes the channel that is to be mapped, and no other one.
    private <T> T mapped(MapCall<T> call) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                if (!channel.isOpen()) {
                    throw new ClosedChannelException();
                }
                try (FileChannel file = FileChannel.open(path, options())) {
                    if (!Objects.equals(attributes().fileKey(), key)) {
                        throw new NoSuchFileException(
                                path.toString(), null, "another file has taken this name since the file was opened");
                    }
                    return call.on(file);
                } catch (ClosedByInterruptException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void force() throws IOException {
        synced(() -> channel.force(false));
    }

    @Override
    public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
        synced(() -> {
            try {
                mapping.force(from, length);
            } catch (UncheckedIOException e) {
                throw e.getCause();
            }
        });
    }

    private interface Fsync {
        void run() throws IOException;
    }

    // No fsync after a failed one proves anything: the kernel may have dropped the pages that it could not write.
    private void synced(Fsync fsync) throws IOException {
        IOException first = failure;
        if (first != null) {
            throw new IOException("an earlier fsync of " + path + " has failed: " + first, first);
        }
        try {
            fsync.run();
        } catch (ClosedChannelException e) {
            throw e; // there was no fsync
        } catch (IOException e) {
            failure = e;
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
