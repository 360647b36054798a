package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.consume.InFlightFile;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.OffsetResolver;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.recovery.DirectoryV1;
import org.mmapqueue.recovery.LogEndCheck;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.recovery.Recovery;
import org.mmapqueue.recovery.RecoveryV1;
import org.mmapqueue.registry.Producers;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Scopes;
import org.mmapqueue.swap.Swapper;

/**
 * Opens a queue: looks, checks, locks, recovers. Until all that can be refused has been refused nothing is changed;
 * when a step fails, what was opened before it is closed again. Used once.
 */
final class QueueOpener {
    private final ConfigValues config;
    private final Storage storage;
    private final Path path;
    private ProcessLock lock;
    private MetaPage meta;
    private Swapper swapper;
    private Registry registry;
    private Producers producers;

    QueueOpener(ConfigValues config, Storage storage) {
        this.config = config;
        this.storage = storage;
        this.path = config.queueDir();
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
        } finally {
            if (!done) {
                undo();
            }
        }
    }

    private QueueCore assemble() throws IOException {
        QueueDirectory directory = new QueueDirectory(storage, config);
        MetaFields found = directory.find();
        Settings settings = found == null ? Settings.forNew(config) : Settings.forExisting(config, found);
        if (settings.readOnly()) {
            if (found == null) {
                throw new MmapQueueException("there is no queue in " + path + " that could be read",
                        new NoSuchFileException(path.toString()));
            }
            if (found.version() == 1) {
                throw new ConfigException("read_only", "true", "false, for a directory of format version 1");
            }
        } else {
            directory.createDirectory();
            lock = ProcessLock.acquire(path.resolve(QueueDirectory.LOCK_FILE), "the queue in " + path,
                    FileMode.of(settings.fileMode()));
            found = directory.find(); // another process may have made it before this one had the lock
            if (found == null) {
                directory.createQueue(settings);
                found = directory.find();
            } else {
                settings = Settings.forExisting(config, found);
            }
        }
        meta = directory.openMeta(found);
        if (!settings.readOnly() && found.version() == 2) {
            // Not set: as the directory has it, as with all that is kept there. Without timestamps nothing has an age.
            long millis = settings.timestamps() ? Math.max(0, meta.retainMillis()) : 0;
            settings = Settings.forExisting(config.orElse(ConfigKey.RETAIN_MS, millis)
                    .orElse(ConfigKey.RETAIN_BYTES, Math.max(0, meta.retainBytes())), found);
        }
        Geometry geometry = settings.geometry();
        SegmentRing ring = new SegmentRing(storage, path, geometry);
        registry = new Registry(storage, path, meta);
        Consumers consumers = new Consumers(storage, settings, meta, registry);
        swapper = new Swapper(ring, settings.maxInMemSegments(), !settings.readOnly(),
                new Places(geometry, meta, consumers));
        consumers.growBy(swapper::atLeast);
        if (!settings.readOnly() && geometry.version() == 2) {
            producers = new Producers(storage, path, found);
        }
        LogEnd tail = settings.readOnly() ? null : takeUp(settings, ring);
        return new QueueCore(path, settings, lock, meta, ring, swapper, registry, consumers, producers, tail);
    }

    private LogEnd takeUp(Settings settings, SegmentRing ring) throws IOException {
        if (settings.geometry().version() == 1) {
            LogEnd tail = RecoveryV1.run(swapper, settings, meta, path);
            new DirectoryV1(storage, path, config).deleteLonger(settings.geometry().segmentSize());
            meta.writing(tail.position());
            meta.reading(meta.committed());
            return tail;
        }
        checkCursors(settings.geometry());
        LogEnd tail;
        if (meta.clean()) {
            LogReaderV2 reader = new LogReaderV2(swapper, settings.geometry(), meta.fields(), meta::writing);
            try {
                OffsetResolver.Place place = OffsetResolver.findEnd(reader, meta.writing(), meta.closedAt());
                tail = new LogEnd(meta.writing(), place.offset(), place.lastTimestamp());
                new LogEndCheck(storage, path, meta.fields().uuidLow(), swapper, reader).run(meta.writing());
            } finally {
                reader.leave();
            }
            // Whoever acked while nobody wrote may have left that in memory alone.
            for (ConsumerCursors cursors : registry.cursors()) {
                cursors.force();
            }
            meta.clean(false);
        } else {
            producers.force(); // before the records that it makes durable
            tail = new Recovery(swapper, ring, meta, registry.cursors(), end ->
                    InFlightFile.deleteBeyond(end, storage, registry.directory(), meta.fields())).run();
        }
        producers.start(tail.nextOffset());
        MetaFields stored = meta.fields();
        MetaFields wanted = stored.withSettings(settings.timestamps(),
                Math.max(stored.maxEventSize(), settings.maxEventSize()));
        if (!wanted.equals(stored)) {
            meta.fields(wanted);
        }
        return tail;
    }

    private void checkCursors(Geometry geometry) {
        String file = path.resolve(MetaPage.FILE_NAME).toString();
        long writing = meta.writing();
        if (writing < 0 || meta.watermark() < 0 || meta.watermark() > writing) {
            throw new CorruptException(file, 576, "watermark is " + meta.watermark() + " and writing is " + writing
                    + ", expected 0 <= watermark <= writing");
        }
        // As far as a record may be published that writing has not passed yet.
        if (meta.reclaimed() < 0 || meta.reclaimed() % geometry.segmentSize() != 0
                || meta.reclaimed() > writing + geometry.segmentSize()) {
            throw new CorruptException(file, 832, "reclaimed is " + meta.reclaimed() + " and writing is " + writing
                    + ", expected a multiple of " + geometry.segmentSize() + ", 0 <= reclaimed <= writing");
        }
        if (meta.clean() && !meta.isMirrored()) {
            throw new CorruptException(file, 512, "writing is " + writing + " and watermark is " + meta.watermark()
                    + ", but the table that was written when the queue was closed says something else");
        }
        for (Registry.Named each : registry.all()) {
            checkConsumer(each.name(), each.cursors(), writing);
        }
        if (meta.heldFrom() < 0 || meta.clean() && meta.heldFrom() > writing) {
            throw new CorruptException(file, 912, "held from is " + meta.heldFrom() + " and writing is " + writing
                    + ", expected 0 or more" + (meta.clean() ? ", and not ahead of writing" : ""));
        }
        // A consumer may have seen a record whose writer was killed before it moved the writing position.
        if (meta.clean() && meta.hasDefault() && (meta.committed() > meta.reading() || meta.reading() > writing)) {
            throw new CorruptException(file, 704, "committed is " + meta.committed() + ", reading is " + meta.reading()
                    + " and writing is " + writing + ", expected committed <= reading <= writing");
        }
        long held = geometry.segmentOfEnd(writing) - geometry.segmentOf(registry.slowest());
        if (held >= geometry.capacity()) {
            throw new CorruptException(file, 512, "writing is " + held + " segments ahead of committed, but the ring"
                    + " has " + geometry.capacity());
        }
    }

    private void checkConsumer(String name, ConsumerCursors cursors, long writing) {
        boolean isDefault = name.equals(Registry.DEFAULT);
        if (!isDefault && cursors.needed() == Long.MAX_VALUE) {
            return; // deleted since the directory was read
        }
        if (cursors.committed() < 0 || cursors.dropped() < 0 || meta.clean() && cursors.needed() > writing) {
            throw new CorruptException(isDefault ? path.resolve(MetaPage.FILE_NAME).toString()
                    : registry.path(name).toString(), isDefault ? 640 : 128, "the committed position of consumer "
                    + name + " is " + cursors.committed() + ", dropped is " + cursors.dropped() + " and writing is " + writing
                    + ", expected 0 or more" + (meta.clean() ? ", and neither ahead of writing" : ""));
        }
    }

    private void undo() {
        try {
            Closing.all(producers, registry, swapper, meta, lock);
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + path + " could not be closed: " + e, e);
        }
    }

    private record Places(Geometry geometry, MetaPage meta, Consumers consumers) implements Scopes {
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
