package org.mmapqueue.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.PartitionAdoption;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.HostName;
import org.mmapqueue.config.Locations;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.RealPath;
import org.mmapqueue.io.Storage;
import org.mmapqueue.recovery.IncompleteCopy;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.recovery.QueueFiles;

/**
 * Makes a new queue that continues a partition of an archive, whose queue is lost with its host. For one use.
 *
 * <p>The order: a mark that the directory is no queue yet, the claim of the partition, the ring, a check that the claim
 * is still the newest one, the meta page. So after a crash the directory has the whole queue or none, and a claim
 * without a queue is replaced by the next adoption.
 */
public final class Adoption {
    private final ConfigValues config;
    private final Path path;
    private final Settings settings;
    private final Storage storage;
    private final QueueDirectory directory;

    private Adoption(ConfigValues given, Storage storage) throws IOException {
        this.path = RealPath.of(given.queueDir());
        this.config = given.at(path);
        this.storage = storage;
        this.settings = Settings.forNew(config);
        this.directory = new QueueDirectory(storage, config);
    }

    /**
     * Makes the queue in the directory of a configuration.
     *
     * @param config with archive_uri, and archive_host, as for a queue that is shipped
     * @param partition the partition's number in the archive
     * @return the offset of the queue's first record
     */
    public static long run(ConfigValues config, int partition) {
        return run(config, partition, new DiskStorage(FileMode.of(config.text(ConfigKey.FILE_MODE))));
    }

    /** As above, on another storage, for tests. */
    static long run(ConfigValues config, int partition, Storage storage) {
        try {
            return new Adoption(config, storage).run(partition);
        } catch (IOException | UncheckedIOException e) {
            throw new MmapQueueException(
                    "partition " + partition + " of " + config.text(ConfigKey.ARCHIVE_URI) + " could not be adopted in "
                            + config.queueDir() + ": " + e,
                    e);
        }
    }

    private long run(int partition) throws IOException {
        if (!settings.archiving().isOn()) {
            throw new ConfigException(
                    ConfigKey.ARCHIVE_URI.keyName(),
                    settings.archiving().uri(),
                    "the archive whose partition is adopted");
        }
        if (settings.readOnly()) {
            throw new ConfigException(ConfigKey.READ_ONLY.keyName(), "true", "false for a new queue");
        }
        checkNoQueue();
        URI uri = Locations.of(
                ConfigKey.ARCHIVE_URI.keyName(), settings.archiving().uri());
        FileMode mode = FileMode.of(settings.fileMode());
        ArchiveFiles files = Archives.files(uri, mode);
        try {
            PartitionAdoption adoption = Archive.open(files)
                    .adoption(partition, HostName.of(settings.archiving().host()), LinkFile.in(storage, path));
            directory.createDirectory();
            ProcessLock lock =
                    ProcessLock.acquire(path.resolve(QueueDirectory.LOCK_FILE), "the queue in " + path, mode);
            try (lock) {
                checkNoQueue(); // another process may have made one before this one had the lock
                return make(adoption);
            }
        } finally {
            files.close();
        }
    }

    private void checkNoQueue() throws IOException {
        if (directory.find() != null) {
            throw new MmapQueueException("there is a queue in " + path + ": nothing was changed");
        }
    }

    private long make(PartitionAdoption adoption) throws IOException {
        try {
            IncompleteCopy.begin(storage, path);
            adoption.claim();
            directory.createQueue(
                    settings, adoption.queueId(), adoption.nextOffset(), adoption.newestMicros(), adoption::check);
            return adoption.nextOffset();
        } catch (IOException | RuntimeException | Error e) {
            undo(e);
            throw e;
        }
    }

    private void undo(Throwable cause) {
        try {
            QueueFiles.delete(storage, path);
            IncompleteCopy.end(storage, path);
        } catch (IOException e) {
            cause.addSuppressed(e); // the mark says that the directory is no queue
        }
    }
}
