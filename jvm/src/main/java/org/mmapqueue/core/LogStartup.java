package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.InFlightFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.OffsetResolver;
import org.mmapqueue.lookup.OpenFiles;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.recovery.DirectoryV1;
import org.mmapqueue.recovery.LogEndCheck;
import org.mmapqueue.recovery.Recovery;
import org.mmapqueue.recovery.RecoveryV1;
import org.mmapqueue.registry.Producers;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * Finds the log end of a queue that is opened to write; a queue that was not closed is recovered. The caller holds the
 * lock of the queue. Used once, by one thread.
 *
 * <p>This is all that an open does to make the files of a queue agree again, in this order:
 *
 * <ol>
 * <li>{@link QueueOpener}: an interrupted resize or copy is completed or undone.
 * <li>Here: the cursors are checked against each other.
 * <li>Here: the log end is that of the clean close, one load, or {@link Recovery} finds it, in steps of its own.
 * <li>Here: sequences of producers beyond the log end are dropped.
 * <li>Here: settings and boot are stored.
 * <li>{@code write.RingSpace.start}: the first segment that is still there is found, since the stored position may be too
 *     low or too high.
 * <li>{@link Registry#takeUp}, when a consumer is opened later: a consumer before the oldest record moves there.
 * </ol>
 */
final class LogStartup {
    private final Storage storage;
    private final ConfigValues config;
    private final Settings settings;
    private final MetaPage meta;
    private final SegmentRing ring;
    private final Swapper swapper;
    private final Registry registry;
    private final Producers producers;

    /** @param producers the pages of idempotent producers; null in version 1 */
    LogStartup(Storage storage, ConfigValues config, OpenFiles files, Producers producers) {
        this.storage = storage;
        this.config = config;
        this.settings = files.settings();
        this.meta = files.meta();
        this.ring = files.ring();
        this.swapper = files.swapper();
        this.registry = files.registry();
        this.producers = producers;
    }

    /**
     * Runs its steps.
     *
     * @return the log end, from which the next record is appended, and what its recovery cost
     * @throws org.mmapqueue.errors.CorruptException when cursors contradict each other, or the log is damaged
     */
    Recovered run() throws IOException {
        if (settings.geometry().format() == Format.V1) {
            return new Recovered(version1(), 0, 0);
        }
        // Checks the cursors against each other.
        new CursorOrderCheck(path(), meta, registry, settings.geometry()).run();
        long boot = storage.boot();
        // Finds the log end, from the clean close or by recovery.
        Recovered found =
                meta.clean() ? new Recovered(afterClose(), 0, 0) : afterCrash(Storage.isSame(boot, meta.boot()));
        // Drops sequences of producers that have an end offset beyond the log end.
        producers.start(found.end().nextOffset());
        // Stores the settings that the directory keeps, and the boot for the next recovery.
        store();
        meta.boot(boot);
        return found;
    }

    private Path path() {
        return config.queueDir();
    }

    private LogEnd version1() throws IOException {
        LogEnd end = RecoveryV1.run(swapper, settings, meta, path());
        new DirectoryV1(storage, path(), config)
                .deleteLonger(settings.geometry().segmentSize());
        meta.writing(end.position());
        meta.consumer().reading(meta.consumer().committed());
        return end;
    }

    private LogEnd afterClose() throws IOException {
        LogEnd end;
        LogReaderV2 reader = new LogReaderV2(swapper, settings.geometry(), meta.fields(), meta::writing);
        try {
            end = closedEnd(reader);
            new LogEndCheck(storage, path(), reader).run(meta.writing(), end.nextOffset());
        } finally {
            reader.leave();
        }
        // Acks stored while no process wrote may not be durable yet.
        for (ConsumerCursors cursors : registry.cursors()) {
            cursors.force();
        }
        meta.clean(false);
        return end;
    }

    // The log end as the last writer has stored it; its segment must be there. Counted if what was stored is damaged.
    private LogEnd closedEnd(LogReaderV2 reader) throws IOException {
        long position = meta.writing();
        long offset = meta.closedAt();
        if (offset < 0 || position == 0) {
            return OffsetResolver.find(reader, position, position);
        }
        reader.moveTo(position);
        Segment last = reader.checkedSegment();
        if (last.baseOffset() > offset) {
            throw reader.corrupt(
                    SegmentHeader.BASE_OFFSET_AT,
                    "the segment begins with offset " + last.baseOffset() + ", but the queue was closed at offset "
                            + offset);
        }
        return new LogEnd(position, offset, Math.max(meta.closedTime(), last.baseTime()));
    }

    private Recovered afterCrash(boolean isSameBoot) throws IOException {
        long begin = System.nanoTime();
        producers.force(); // before recovery makes the records durable
        Recovery recovery = new Recovery(
                swapper,
                ring,
                meta,
                isSameBoot,
                registry.cursors(),
                end -> InFlightFile.cutAfter(end, storage, registry.directory(), meta.fields()));
        LogEnd end = recovery.run();
        return new Recovered(end, System.nanoTime() - begin, recovery.truncatedBytes());
    }

    private void store() throws IOException {
        MetaFields stored = meta.fields();
        MetaFields wanted =
                stored.withSettings(settings.timestamps(), Math.max(stored.maxEventSize(), settings.maxEventSize()));
        if (!wanted.equals(stored)) {
            meta.fields(wanted);
        }
    }
}
