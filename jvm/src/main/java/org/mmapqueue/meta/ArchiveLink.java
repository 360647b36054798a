package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * What the directory of a queue knows of the archive into which it is shipped, {@code archive.dat}. Immutable.
 *
 * <pre>
 *  0  magic (8)
 *  8  queue UUID (8 + 8)
 * 24  archive UUID (8 + 8)
 * 40  number of the partition in the archive (4)
 * 44  1 if the partition is registered for the queue (4)
 * 48  epoch of the claim that was made last (8)
 * 56  token of the claim before it (8 + 8), 0 = none
 * 72  token of the claim that was made last, or is being made (8 + 8)
 * 88  token of the claim of another directory that may be replaced (8 + 8), 0 = none
 * 104 offset of the first record of the newest gap (8), and after the last one (8); 0 = none
 * 120 0 (4)
 * 124 CRC32C of bytes 0..123 (4)
 * </pre>
 *
 * @param queue the queue's UUID
 * @param archive the archive's UUID
 * @param partition the number of the partition
 * @param isRegistered whether the partition is known to be that of this queue
 * @param epoch the epoch of the last claim
 * @param token the token of the claim before it; null for none
 * @param next the token of the last claim
 * @param taken the token of another directory's claim that may be replaced; null for none
 * @param gapFirst the offset of the first record of the newest gap: records that were acked and are not in the archive
 * @param gapEnd the offset after the last one; 0 for no gap
 */
public record ArchiveLink(
        UUID queue,
        UUID archive,
        int partition,
        boolean isRegistered,
        long epoch,
        @Nullable UUID token,
        UUID next,
        @Nullable UUID taken,
        long gapFirst,
        long gapEnd) {
    /** The name of the file. */
    public static final String FILE_NAME = "archive.dat";

    /** The name of the file of the next archive, until the partition is claimed there. */
    public static final String NEXT_NAME = "archive.dat.next";

    /** "MMAPQAR1" in ASCII, first byte lowest. */
    private static final long MAGIC = 0x3152_4151_5041_4D4DL;

    private static final UUID NONE = new UUID(0, 0);
    private static final int LENGTH = 128;
    private static final int CHECKSUM = LENGTH - 4;

    /** A link without a gap. */
    public ArchiveLink(
            UUID queue,
            UUID archive,
            int partition,
            boolean isRegistered,
            long epoch,
            @Nullable UUID token,
            UUID next,
            @Nullable UUID taken) {
        this(queue, archive, partition, isRegistered, epoch, token, next, taken, 0, 0);
    }

    /** This link with the gap of another link, if there is one. */
    public ArchiveLink withGapOf(@Nullable ArchiveLink other) {
        return other == null ? this : withGap(other.gapFirst, other.gapEnd);
    }

    /** This link with another gap. */
    public ArchiveLink withGap(long first, long end) {
        return new ArchiveLink(queue, archive, partition, isRegistered, epoch, token, next, taken, first, end);
    }

    /** A link to the same partition for a directory that has claimed nothing. */
    public ArchiveLink withoutClaims() {
        return new ArchiveLink(queue, archive, partition, false, 0, null, UUID.randomUUID(), null, gapFirst, gapEnd);
    }

    /** Whether a claim's token is that of a claim which this directory has made. */
    public boolean isOwn(UUID claim) {
        return isOfOneClaim(claim, next) || token != null && isOfOneClaim(claim, token);
    }

    /**
     * A token for the next claim. If the last claim was not seen, because its call has failed, it may still appear: the
     * token of the next attempt has the same first half, so that each of them is known as own.
     *
     * @param newest the token of the newest claim; null for none
     */
    public UUID tokenAfter(@Nullable UUID newest) {
        UUID random = UUID.randomUUID();
        boolean isUnseen =
                newest != null && token != null && isOfOneClaim(newest, token) && !isOfOneClaim(newest, next);
        return isUnseen ? new UUID(next.getMostSignificantBits(), random.getLeastSignificantBits()) : random;
    }

    private static boolean isOfOneClaim(UUID one, UUID other) {
        return one.getMostSignificantBits() == other.getMostSignificantBits();
    }

    /** Reads the file of a directory; empty if it does not exist, because the queue was never shipped. */
    public static Optional<ArchiveLink> read(Storage storage, Path directory) throws IOException {
        return readFile(storage, directory.resolve(FILE_NAME));
    }

    /** Reads a file; empty if it does not exist. */
    public static Optional<ArchiveLink> readFile(Storage storage, Path path) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            int length = file.read(bytes, 0);
            if (length < LENGTH) {
                throw new CorruptException(
                        path.toString(), length, "the file has " + length + " bytes; expected " + LENGTH);
            }
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        if (bytes.getLong(0) != MAGIC) {
            throw new CorruptException(path.toString(), 0, "the magic is not that of " + FILE_NAME);
        }
        if (bytes.getInt(CHECKSUM) != checksum(bytes)) {
            throw new CorruptException(path.toString(), CHECKSUM, "the checksum of " + FILE_NAME + " is wrong");
        }
        return Optional.of(new ArchiveLink(
                uuid(bytes, 8),
                uuid(bytes, 24),
                bytes.getInt(40),
                bytes.getInt(44) == 1,
                bytes.getLong(48),
                known(uuid(bytes, 56)),
                uuid(bytes, 72),
                known(uuid(bytes, 88)),
                bytes.getLong(104),
                bytes.getLong(112)));
    }

    /** Replaces the file of a directory, durably. */
    public void write(Storage storage, Path directory) throws IOException {
        writeFile(storage, directory.resolve(FILE_NAME));
    }

    /** Replaces a file, durably. */
    public void writeFile(Storage storage, Path path) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(0, MAGIC);
        put(bytes, 8, queue);
        put(bytes, 24, archive);
        bytes.putInt(40, partition).putInt(44, isRegistered ? 1 : 0).putLong(48, epoch);
        put(bytes, 56, token == null ? NONE : token);
        put(bytes, 72, next);
        put(bytes, 88, taken == null ? NONE : taken);
        bytes.putLong(104, gapFirst).putLong(112, gapEnd);
        bytes.putInt(CHECKSUM, checksum(bytes));
        NewFile.write(storage, path, bytes.rewind());
    }

    /** The link to the next archive becomes that of the directory, durably, in one step. */
    public static void change(Storage storage, Path directory) throws IOException {
        storage.rename(directory.resolve(NEXT_NAME), directory.resolve(FILE_NAME));
        storage.syncDirectory(directory);
    }

    /** Deletes the file of a directory, durably; returns false if it does not exist. */
    public static boolean delete(Storage storage, Path directory) throws IOException {
        storage.delete(directory.resolve(NEXT_NAME));
        boolean existed = storage.delete(directory.resolve(FILE_NAME));
        storage.syncDirectory(directory);
        return existed;
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.array(), 0, CHECKSUM);
        return (int) crc.getValue();
    }

    private static UUID uuid(ByteBuffer bytes, int at) {
        return new UUID(bytes.getLong(at), bytes.getLong(at + 8));
    }

    private static @Nullable UUID known(UUID id) {
        return id.equals(NONE) ? null : id;
    }

    private static void put(ByteBuffer bytes, int at, UUID id) {
        bytes.putLong(at, id.getMostSignificantBits()).putLong(at + 8, id.getLeastSignificantBits());
    }
}
