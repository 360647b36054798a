package org.mmapqueue.spark.write.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/** Functions for the files of the staging area. */
public final class StagedFiles {
    private static final int PIECE = 256 << 10;

    private StagedFiles() {}

    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** A daemon thread. */
    public static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "mmapqueue-sink");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Verifies a staged file.
     *
     * @return null if the file is intact, else the error
     */
    public static String fault(Storage storage, Path directory, StagedFile file) throws IOException {
        Path path = directory.resolve(file.name());
        try (DataFile found = storage.open(path, Storage.Mode.READ)) {
            long size = found.size();
            if (size != file.size()) {
                return path + " has " + size + " bytes, expected " + file.size();
            }
            int checksum = checksum(found, size);
            return checksum == file.checksum()
                    ? null
                    : String.format("%s has the checksum %08x, expected %08x", path, checksum, file.checksum());
        } catch (NoSuchFileException e) {
            return path + " is missing";
        }
    }

    private static int checksum(DataFile file, long size) throws IOException {
        CRC32C checksum = new CRC32C();
        ByteBuffer piece = ByteBuffer.allocateDirect((int) Math.max(1, Math.min(PIECE, size)));
        for (long at = 0; at < size; at += piece.limit()) {
            file.read(piece.clear(), at);
            checksum.update(piece.flip());
            if (piece.limit() == 0) {
                break; // the file was truncated since it was opened
            }
        }
        return (int) checksum.getValue();
    }
}
