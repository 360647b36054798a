package org.mmapqueue.meta;

import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * The file {@code overflow.uri}: the location of the archive that has what the ring has given up, in UTF-8. Written
 * before the ring gives up anything, so that consumers of every process know where to read on. Has no state.
 */
public final class OverflowFile {
    /** The name of the file. */
    public static final String NAME = "overflow.uri";

    private static final int MOST_BYTES = 8192;

    private OverflowFile() {}

    /**
     * The archive's location; empty if the ring has never given up a record that a consumer needs.
     *
     * @throws CorruptException if the file holds no location
     */
    public static Optional<URI> read(Storage storage, Path directory) throws IOException {
        Path path = directory.resolve(NAME);
        ByteBuffer bytes = ByteBuffer.allocate(MOST_BYTES + 1);
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            file.read(bytes, 0);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        String text = StandardCharsets.UTF_8.decode(bytes.flip()).toString();
        if (text.length() < 2 || text.length() > MOST_BYTES || !text.endsWith("\n")) {
            throw new CorruptException(path.toString(), 0, "the file does not hold one line with a location");
        }
        try {
            return Optional.of(URI.create(text.strip()));
        } catch (IllegalArgumentException e) {
            throw new CorruptException(path.toString(), 0, "the location is not a URI: " + e.getMessage());
        }
    }

    /** Replaces the file, durably, unless it has this location. */
    public static void write(Storage storage, Path directory, URI archive) throws IOException {
        if (!read(storage, directory).equals(Optional.of(archive))) {
            NewFile.write(
                    storage,
                    directory.resolve(NAME),
                    ByteBuffer.wrap((archive + "\n").getBytes(StandardCharsets.UTF_8)));
        }
    }

    /**
     * Lets the consumers of a copy of the queue read what the ring has given up. The copy is not shipped into that archive
     * unless it takes the partition over.
     */
    public static void copy(Storage storage, Path directory, Path target) throws IOException {
        Optional<URI> archive = read(storage, directory);
        Optional<ArchiveLink> link = archive.isPresent() ? ArchiveLink.read(storage, directory) : Optional.empty();
        if (link.isPresent()) {
            link.get().withoutClaims().write(storage, target);
            write(storage, target, archive.get());
        }
    }

    /** Deletes the file, durably: consumers no longer read what the ring has given up. */
    public static void delete(Storage storage, Path directory) throws IOException {
        if (storage.delete(directory.resolve(NAME))) {
            storage.syncDirectory(directory);
        }
    }
}
