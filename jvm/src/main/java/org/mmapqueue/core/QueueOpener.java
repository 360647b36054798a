package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.UUID;
import java.util.function.Supplier;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.PlacedStorage;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.RealPath;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.TruncatedFiles;
import org.mmapqueue.lookup.OpenFiles;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.recovery.RingSwitch;
import org.mmapqueue.registry.Producers;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Scopes;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a queue: finds, checks, locks and recovers it. No file changes before every check has passed. If a step fails,
 * the parts opened before are closed again. Used once.
 */
final class QueueOpener {
    private static final Logger LOG = LoggerFactory.getLogger(QueueOpener.class);

    private final ConfigValues given;
    private Storage storage;
    private final int leastMapped;
    /** The configuration with the real path of the directory: no file is looked for through a link that may change. */
    private ConfigValues config;

    private Path path;
    private ProcessLock lock;
    private MetaPage meta;
    private Swapper swapper;
    private Registry registry;
    private Producers producers;

    /** @param leastMapped lower bound of the limit of mapped segments, if the configuration does not set the limit */
    QueueOpener(ConfigValues config, Storage storage, int leastMapped) {
        this.given = config;
        this.storage = storage;
        this.leastMapped = leastMapped;
        this.path = config.queueDir();
        this.config = config;
    }

    QueueCore open() {
        boolean done = false;
        try {
            QueueCore core = assemble();
            done = true;
            return core;
        } catch (NoSuchFileException e) {
            throw new CorruptException(e.getFile(), 0, "the file is missing");
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + path + " could not be opened: " + e, e);
        } catch (InternalError e) {
            if (TruncatedFiles.isMappingFault(e)) {
                throw TruncatedFiles.unreadable(e, path);
            }
            throw e;
        } finally {
            if (!done) {
                undo();
            }
        }
    }

    private QueueCore assemble() throws IOException {
        TestedJava.check();
        path = RealPath.of(path);
        config = given.at(path);
        QueueDirectory directory = new QueueDirectory(storage, config);
        completeResize();
        MetaFields found = directory.find();
        Settings settings = found == null ? Settings.forNew(config) : Settings.forExisting(config, found);
        if (settings.readOnly()) {
            if (found == null) {
                throw new MmapQueueException(
                        "there is no queue in " + path + " that could be read",
                        new NoSuchFileException(path.toString()));
            }
            if (!settings.geometry().format().hasNamedConsumers()) {
                throw new ConfigException("read_only", "true", "false, for a directory of format version 1");
            }
        } else {
            directory.createDirectory();
            if (lock == null) {
                acquireLock(FileMode.of(settings.fileMode()));
            }
            recoverResize();
            found = directory.find(); // another process may have created it before this one had the lock
            if (found == null) {
                directory.createQueue(settings);
                found = directory.find();
            } else {
                settings = Settings.forExisting(config, found);
            }
        }
        if (settings.maxInMemSegments() < leastMapped && !config.isSet(ConfigKey.MAX_IN_MEM_SEGMENTS)) {
            settings = Settings.forExisting(config.with(ConfigKey.MAX_IN_MEM_SEGMENTS, leastMapped), found);
        }
        meta = directory.openMeta(found);
        storage = new PlacedStorage(storage, path.resolve(MetaPage.FILE_NAME), holder(storage, found));
        if (!settings.readOnly() && settings.geometry().format().hasRetention()) {
            // Keys that are not set keep the directory's values. Without timestamps no retention by age is possible.
            long millis = settings.timestamps() ? Math.max(0, meta.retainMillis()) : 0;
            settings = Settings.forExisting(
                    config.orElse(ConfigKey.RETAIN_MS, millis)
                            .orElse(ConfigKey.RETAIN_BYTES, Math.max(0, meta.retainBytes())),
                    found);
        }
        Geometry geometry = settings.geometry();
        SegmentRing ring = new SegmentRing(storage, path, geometry);
        registry = new Registry(storage, path, meta);
        Consumers consumers = new Consumers(storage, settings, meta, registry);
        swapper = new Swapper(
                ring, settings.maxInMemSegments(), !settings.readOnly(), new QueueScopes(geometry, meta, consumers));
        consumers.growBy(swapper::atLeast);
        if (!settings.readOnly() && geometry.format().hasProducers()) {
            producers = new Producers(storage, path, found);
        }
        OpenFiles files = new OpenFiles(given.queueDir(), settings, meta, ring, swapper, registry);
        Recovered recovered = settings.readOnly() ? null : new LogStartup(storage, config, files, producers).run();
        return new QueueCore(files, consumers, producers, lock, recovered);
    }

    // Says which queue has the place of this one.
    private Supplier<String> holder(Storage files, MetaFields own) {
        Path place = path;
        UUID id = own.uuid();
        String expected = own.version() == 1 ? "a queue of version 1" : "queue " + id;
        return () -> {
            try {
                String other = QueueDirectory.idIn(files, place)
                        .map(each -> each.equals(id) ? "the same queue with another meta.dat" : "queue " + each)
                        .orElse("no queue with an id");
                return "the directory holds " + other + ", expected " + expected;
            } catch (MmapQueueException e) {
                return "the directory holds something else: " + e.getMessage();
            }
        };
    }

    // Only the writer completes or undoes an interrupted resize; the queue of the directory is known only after that.
    private void completeResize() throws IOException {
        boolean readOnly = config.flag(ConfigKey.READ_ONLY);
        if (readOnly && RingSwitch.isCommitted(path)) {
            throw new MmapQueueException("a resize of the queue in " + path
                    + " was interrupted: open the queue to write, or resize it again, to complete it");
        }
        if (!readOnly && RingSwitch.isInterrupted(path)) {
            acquireLock(FileMode.of(config.text(ConfigKey.FILE_MODE)));
            recoverResize();
        }
    }

    // Needs the lock of the queue.
    private void recoverResize() throws IOException {
        RingSwitch.Outcome outcome = RingSwitch.recover(storage, path);
        if (outcome != RingSwitch.Outcome.NOTHING) {
            LOG.warn(
                    "a resize of the queue in {} was interrupted: {}",
                    path,
                    outcome == RingSwitch.Outcome.COMPLETED ? "it is completed" : "its copy is deleted");
        }
    }

    private void acquireLock(FileMode mode) throws IOException {
        lock = ProcessLock.acquire(path.resolve(QueueDirectory.LOCK_FILE), "the queue in " + path, mode);
    }

    private void undo() {
        try {
            Closing.all(producers, registry, swapper, meta, lock);
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + path + " could not be closed: " + e, e);
        }
    }

    private record QueueScopes(Geometry geometry, MetaPage meta, Consumers consumers) implements Scopes {
        @Override
        public long writing() {
            return Math.max(0, geometry.segmentOfEnd(meta.writing()));
        }

        @Override
        public long[] reading() {
            return consumers.readingSegments();
        }
    }
}
