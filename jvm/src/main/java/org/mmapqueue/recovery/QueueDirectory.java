package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.UUID;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV1;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;

/** Finds the queue of a directory without changing it, and creates a new queue. */
public final class QueueDirectory {
    /** The lock file: the process that holds its OS lock is the writer. */
    public static final String LOCK_FILE = "lock";

    private final Storage storage;
    private final Path path;
    private final ConfigValues config;

    public QueueDirectory(Storage storage, ConfigValues config) {
        this.storage = storage;
        this.path = config.queueDir();
        this.config = config;
    }

    /**
     * Returns the fixed facts of the queue in the directory.
     *
     * @return null when there is no queue and one may be created
     * @throws ConfigException when the directory holds other files
     * @throws CorruptException when it holds a damaged queue
     */
    public MetaFields find() throws IOException {
        checkNoFile();
        if (!Files.exists(path)) {
            return null;
        }
        Path meta = path.resolve(MetaPage.FILE_NAME);
        if (!Files.exists(meta)) {
            checkNotForeign();
            return null;
        }
        ByteBuffer head = ByteBuffer.allocate(80).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile file = storage.open(meta, Storage.Mode.READ)) {
            boolean isShort = file.read(head, 0) < head.capacity();
            if (MetaPageV1.isUnfinished(head, file.size())) {
                new DirectoryV1(storage, path, config)
                        .checkNew("the file has " + file.size() + " bytes and no content");
                return null;
            }
            if (isShort) {
                throw new CorruptException(
                        meta.toString(),
                        head.position(),
                        "the file has " + head.position() + " bytes, expected at least " + head.capacity());
            }
        }
        long version = head.getLong(0);
        if (version == 1) {
            return new DirectoryV1(storage, path, config).fields(head);
        }
        if (version != 2) {
            throw new CorruptException(
                    meta.toString(),
                    0,
                    "the format version is " + Long.toUnsignedString(version) + ", expected 1 or 2");
        }
        try (MetaPageV2 page = MetaPageV2.open(storage, path)) {
            return page.fields();
        }
    }

    /**
     * Throws ConfigException, caused by NotDirectoryException, when the path, or a parent of it, is a file.
     */
    private void checkNoFile() {
        Path found = path.toAbsolutePath();
        while (found != null && !Files.exists(found)) {
            found = found.getParent();
        }
        if (found != null && !Files.isDirectory(found)) {
            ConfigException error = new ConfigException(
                    "queue_dir", path.toString(), "the path of a directory, and " + found + " is a file");
            error.initCause(new NotDirectoryException(found.toString()));
            throw error;
        }
    }

    /** The UUID of the queue in a directory; empty when there is no queue, or one of version 1. */
    public static Optional<UUID> idIn(Storage storage, Path directory) {
        try {
            MetaImage image = MetaImage.read(storage, directory);
            if (image.version() == 1) {
                return Optional.empty();
            }
            Mismatch mismatch = image.check();
            if (mismatch != null) {
                throw new CorruptException(
                        directory.resolve(MetaPage.FILE_NAME).toString(), mismatch.at(), mismatch.toString());
            }
            return Optional.of(image.fields().uuid());
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be read: " + e, e);
        }
    }

    private void checkNotForeign() throws IOException {
        String odd = null;
        String segment = null;
        for (Path entry : Listing.entries(path)) {
            String name = entry.getFileName().toString();
            if (name.endsWith(Geometry.FILE_SUFFIX)) {
                segment = name;
            } else if (!name.equals(LOCK_FILE) && !name.startsWith(MetaPage.FILE_NAME)) {
                odd = name;
            }
        }
        IncompleteCopy.check(path);
        if (segment != null) {
            new DirectoryV1(storage, path, config)
                    .checkNew("the file is missing, but there are segments such as " + segment);
        }
        if (odd != null) {
            throw new ConfigException(
                    "queue_dir",
                    path.toString(),
                    "a directory that holds a queue, or nothing; this one holds " + odd + " and no "
                            + MetaPage.FILE_NAME);
        }
    }

    /** Creates the directory if it is missing. The queue's pages are created later, under the lock. */
    public void createDirectory() throws IOException {
        Path parent = path.toAbsolutePath().getParent();
        if (!Files.isDirectory(path)) {
            try {
                storage.createDirectories(path);
            } catch (NoSuchFileException e) {
                // In some file systems, such as /proc, no directory can be made. That is not damage.
                throw new MmapQueueException("the directory " + path + " cannot be made: " + e, e);
            }
        } else if (parent != null && Files.isReadable(parent)) {
            storage.syncDirectory(parent); // the process that created the directory may have died before its fsync
        }
    }

    /** Creates a new, empty queue. */
    public void createQueue(Settings settings) throws IOException {
        Geometry geometry = settings.geometry();
        if (geometry.format() == Format.V1) {
            MetaPageV1.create(storage, path, geometry.capacity());
        } else {
            MetaPageV2.create(storage, path, newFields(settings, UUID.randomUUID()));
        }
    }

    /**
     * Creates a new, empty queue, with the records of another directory before its first one. The directory is marked
     * as incomplete from {@link IncompleteCopy#begin} on until then.
     *
     * @param queue the queue's UUID
     * @param number the offset of the first record
     * @param newest lower bound of the records' timestamps, in µs since 1970
     * @param check called last, when everything is durable but the meta page: if it throws, there is no queue
     */
    public void createQueue(Settings settings, UUID queue, long number, long newest, Check check) throws IOException {
        MetaFields fields = newFields(settings, queue);
        MetaImage meta = MetaImage.of(fields);
        try (RingWriter ring = new RingWriter(storage, path, fields, number, newest)) {
            ring.finish();
            meta.closedWith(ring.start(), ring.position(), number, newest);
            meta.put(MetaImage.Word.HELD_FROM, ring.position(), fields.segmentSize());
        }
        meta.put(MetaImage.Word.RETAIN_MILLIS, settings.retention().millis(), fields.segmentSize());
        meta.put(MetaImage.Word.RETAIN_BYTES, settings.retention().bytes(), fields.segmentSize());
        check.run();
        IncompleteCopy.end(storage, path);
        meta.write(storage, path);
    }

    /** Whether a queue may be created. */
    @FunctionalInterface
    public interface Check {
        /** Throws if it may not. */
        void run() throws IOException;
    }

    private static MetaFields newFields(Settings settings, UUID queue) {
        Geometry geometry = settings.geometry();
        return new MetaFields(
                2,
                geometry.capacity(),
                geometry.segmentSize(),
                queue.getMostSignificantBits(),
                queue.getLeastSignificantBits(),
                settings.timestamps(),
                settings.maxEventSize(),
                System.currentTimeMillis() * 1000,
                1);
    }

    /** Opens the meta page of the queue. */
    public MetaPage openMeta(MetaFields found) throws IOException {
        return found.version() == 1 ? MetaPageV1.open(storage, path, found) : MetaPageV2.open(storage, path);
    }
}
