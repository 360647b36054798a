package org.mmapqueue.spark.write;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.zip.CRC32C;

/** Files and directories of the staging area: made for their owner alone. */
final class StagedFiles {
    private static final int PIECE = 256 << 10;
    private static final FileAttribute<?>[] PRIVATE_FILE = {
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))};
    private static final FileAttribute<?>[] PRIVATE_DIRECTORY = {
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))};
    private static final FileAttribute<?>[] NONE = {};

    private StagedFiles() {
    }

    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** A new file, open to be written; FileAlreadyExistsException when there is one. */
    static FileChannel create(Path file) throws IOException {
        return FileChannel.open(file, Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                isPosix(file) ? PRIVATE_FILE : NONE);
    }

    /** A directory that is there already stays as it is. */
    static void createDirectory(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            Files.createDirectories(directory, isPosix(directory) ? PRIVATE_DIRECTORY : NONE);
        }
    }

    private static boolean isPosix(Path path) {
        return path.getFileSystem().supportedFileAttributeViews().contains("posix");
    }

    /** A thread that does not keep the process from ending. */
    static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "mmapqueue-sink");
        thread.setDaemon(true);
        return thread;
    }

    /** Sees to it that what has been made, renamed or deleted in a directory is so after a loss of power. */
    static void forceDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /**
     * What is wrong with a file that a task has left.
     *
     * @return null when it is as the task has written it
     */
    static String fault(Path directory, StagedFile file) throws IOException {
        Path path = directory.resolve(file.name());
        if (!Files.exists(path)) {
            return path + " is missing";
        }
        long size = Files.size(path);
        if (size != file.size()) {
            return path + " has " + size + " bytes, expected " + file.size();
        }
        CRC32C checksum = new CRC32C();
        ByteBuffer piece = ByteBuffer.allocateDirect((int) Math.max(1, Math.min(PIECE, size)));
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            while (channel.read(piece) >= 0) {
                checksum.update(piece.flip());
                piece.clear();
            }
        }
        int found = (int) checksum.getValue();
        return found == file.checksum() ? null : String.format("%s has the checksum %08x, expected %08x", path, found,
                file.checksum());
    }
}
