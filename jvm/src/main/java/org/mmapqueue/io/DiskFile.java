package org.mmapqueue.io;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashSet;
import java.util.Set;

/**
 * A file with a {@link FileChannel}. The JDK closes a channel for all threads when one of them is interrupted inside;
 * this class then opens the channel again, repeats the call, and keeps the interrupt pending. All calls can be
 * repeated.
 */
final class DiskFile implements DataFile {
    private static final ByteBuffer ZEROS =
            ByteBuffer.allocateDirect(Storage.LARGEST_BLOCK).asReadOnlyBuffer();

    private final Path path;
    private final boolean writable;
    private FileChannel channel;
    private boolean closed;

    DiskFile(Path path, Storage.Mode mode, FileMode fileMode) throws IOException {
        this.path = path;
        this.writable = mode != Storage.Mode.READ;
        this.channel = mode == Storage.Mode.CREATE ? createChannel(fileMode) : openChannel();
    }

    private FileChannel createChannel(FileMode fileMode) throws IOException {
        try {
            Set<OpenOption> options = Set.of(
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.CREATE_NEW,
                    LinkOption.NOFOLLOW_LINKS);
            FileChannel made = FileChannel.open(path, options, fileMode.ofNewFile());
            try {
                fileMode.setOnFile(path);
                return made;
            } catch (IOException | RuntimeException | Error e) {
                made.close();
                throw e;
            }
        } catch (FileAlreadyExistsException e) {
            return openChannel(); // keeps the permissions of an existing file
        }
    }

    private FileChannel openChannel() throws IOException {
        // Opening a FIFO would wait for its other end.
        if (Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .isOther()) {
            throw new FileSystemException(path.toString(), null, "not a regular file");
        }
        Set<OpenOption> options = new HashSet<>();
        options.add(StandardOpenOption.READ);
        options.add(LinkOption.NOFOLLOW_LINKS);
        if (writable) {
            options.add(StandardOpenOption.WRITE);
        }
        return FileChannel.open(path, options);
    }

    @Override
    public Path path() {
        return path;
    }

    @Override
    public long size() throws IOException {
        return uninterrupted(FileChannel::size);
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
        int start = target.position();
        return uninterrupted(open -> {
            target.position(start);
            while (target.hasRemaining()) {
                int count = open.read(target, position + target.position() - start);
                if (count < 0) {
                    break;
                }
            }
            return target.position() - start;
        });
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
        int start = source.position();
        uninterrupted(open -> {
            source.position(start);
            while (source.hasRemaining()) {
                open.write(source, position + source.position() - start);
            }
            return null;
        });
    }

    @Override
    public void zeroFill(long size, int blockSize) throws IOException {
        uninterrupted(open -> {
            long done = 0;
            while (done < size) {
                ByteBuffer block = ZEROS.duplicate();
                block.limit((int) Math.min(blockSize, size - done));
                done += open.write(block, done);
            }
            return null;
        });
    }

    @Override
    public MappedByteBuffer map(long size, boolean toWrite) throws IOException {
        return uninterrupted(open -> open.map(mapMode(toWrite), 0, size));
    }

    @Override
    public Mapping mapToUnmap(long size, boolean toWrite) throws IOException {
        return uninterrupted(open -> Mapping.of(open, mapMode(toWrite), size));
    }

    private static FileChannel.MapMode mapMode(boolean toWrite) {
        return toWrite ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY;
    }

    @Override
    public void force() throws IOException {
        uninterrupted(open -> {
            open.force(false);
            return null;
        });
    }

    @Override
    public void force(MappedByteBuffer mapping, int from, int length) throws IOException {
        try {
            mapping.force(from, length);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    @Override
    public synchronized void close() throws IOException {
        closed = true;
        channel.close();
    }

    private interface ChannelCall<T> {
        T on(FileChannel channel) throws IOException;
    }

    private <T> T uninterrupted(ChannelCall<T> call) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                FileChannel open = usable();
                try {
                    return call.on(open);
                } catch (ClosedChannelException e) {
                    // An interrupt closed the channel: of this thread, or of another one that was inside the same
                    // channel.
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized FileChannel usable() throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
        if (!channel.isOpen()) {
            channel = openChannel();
        }
        return channel;
    }
}
