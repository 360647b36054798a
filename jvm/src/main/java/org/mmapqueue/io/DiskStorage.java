package org.mmapqueue.io;

import java.io.IOException;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.UUID;

/**
 * The file system of this machine. Immutable; safe for any number of threads.
 *
 * @param fileMode permissions of new files
 */
public record DiskStorage(FileMode fileMode) implements Storage {
    /** Makes files that only their owner may read and write. */
    public static final DiskStorage INSTANCE = new DiskStorage(FileMode.PRIVATE);

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        return new DiskFile(path, mode, fileMode);
    }

    // Linux draws a UUID at each boot.
    @Override
    public long boot() {
        try {
            UUID boot = UUID.fromString(Files.readString(BOOT_ID).strip());
            return boot.getMostSignificantBits() ^ boot.getLeastSignificantBits();
        } catch (IOException | IllegalArgumentException e) {
            return UNKNOWN_BOOT;
        }
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        Path absolute = directory.toAbsolutePath();
        Path existing = fileMode.createDirectories(absolute);
        // Fsyncs each new directory entry: without one of them a loss of power could lose the whole queue.
        for (Path at = absolute.getParent();
                at != null && existing != null && at.startsWith(existing);
                at = at.getParent()) {
            syncDirectory(at);
        }
    }

    @Override
    public boolean delete(Path path) throws IOException {
        return Files.deleteIfExists(path);
    }

    @Override
    public void syncDirectory(Path directory) throws IOException {
        try (AsynchronousFileChannel channel = Descriptors.open(directory, Set.of(StandardOpenOption.READ))) {
            try {
                channel.force(true);
            } catch (IOException e) {
                throw new FailedSync(e); // unlike an open that fails, for want of descriptors
            }
        }
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
